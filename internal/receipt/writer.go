// Package receipt ends handoffs: it prepares the results and the archive for a receipt, drops
// checkpoints, and refuses text for the log of a sealed handoff.
package receipt

import (
	"context"

	"githandoff/internal/annotate"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed by receipt.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Warn(err error)
}

// Writer ends handoffs.
type Writer struct {
	Engine    *lifecycle.Engine
	Workspace Workspace

	Notes *annotate.Notes
}

// New makes the writer of a workspace.
func New(w *workspace.Workspace) *Writer {
	return &Writer{Engine: w.Engine, Workspace: w, Notes: annotate.New(w)}
}

// sealed reports whether the receipt of a handoff must carry no text. Everybody can read the log of
// a sealed handoff, so results are refused, and a reason is left out. If it cannot be told whether
// the handoff is sealed, a step with text is refused, because the log cannot be taken back.
func (w *Writer) sealed(ctx context.Context, s *lifecycle.State, event record.Event, data string) (bool, error) {
	sealed, err := w.Engine.Verifier.IsSealed(ctx, s)
	if err != nil && data == "" {
		return true, nil // a receipt without text says nothing, sealed or not
	}
	if err != nil && s.Receipt != nil { // the payload is erased, but the token can still be revoked
		w.Workspace.Warn(fault.New(fault.Policy, fault.Sealed, "handoff %s is erased, and nobody can tell whether it was sealed: its receipt takes no reason", s.ID))
		return true, nil
	}
	if !sealed || err != nil {
		return false, err
	}
	switch {
	case data == "":
	case event == record.Acknowledged:
		return true, errTellsAll(s.ID, fault.Run("githandoff", "ack", string(s.ID)).Because("acknowledges it without them"))
	default:
		w.Workspace.Warn(fault.New(fault.Policy, fault.Sealed, "handoff %s is sealed: its receipt takes no reason", s.ID))
	}
	return true, nil
}

// errTellsAll refuses texts and results. The hint is the refused command without them: no other
// step, for the work goes on where progress was to be told.
func errTellsAll(id handoff.ID, without fault.Hint) error {
	return fault.New(fault.Policy, fault.Sealed, "handoff %s is sealed, but its log is readable: it takes no text and no results", id).
		WithHints(without, fault.SeeAll("emit").Because("--seal hands results on in a sealed handoff"))
}

// CheckLogText refuses the text of a progress for the log of an open handoff if it is sealed, or if nobody can
// tell.
func (w *Writer) CheckLogText(ctx context.Context, home lifecycle.Home, p lifecycle.Place, data string) error {
	if data == "" {
		return nil
	}
	s, err := w.withPayload(ctx, home, p, data)
	if err != nil || s.Receipt != nil || s.Offer == nil {
		return err // the step itself reports the problem
	}
	sealed, err := w.Engine.Verifier.IsSealed(ctx, s)
	if err == nil && sealed {
		return errTellsAll(p.ID, fault.Run("githandoff", "progress", string(p.ID)).Because("renews its lease without a text"))
	}
	return err
}

// withPayload loads a handoff for a step with data. Copies of a hub without its payload may be
// old: only then is the hub asked.
func (w *Writer) withPayload(ctx context.Context, home lifecycle.Home, p lifecycle.Place, data string) (*lifecycle.State, error) {
	s, err := w.Engine.Reader.LoadOrFetch(ctx, home, p)
	if err != nil || data == "" || len(s.Chain) > 0 || s.Receipt != nil {
		return s, err
	}
	if err := home.Refresh(ctx, lifecycle.WholeHandoffs(p)); err != nil {
		return nil, err
	}
	return w.Engine.Reader.Load(ctx, home, p)
}
