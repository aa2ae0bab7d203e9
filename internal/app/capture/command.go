package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// runCommand runs an agent and hands over the document that it wrote. A target that would
// refuse every handoff is refused before the agent has worked for nothing.
func (h *Handler) runCommand(ctx context.Context, r *Request) (code int, err error) {
	if r.To != "" {
		if err := h.Check(ctx, r.To); err != nil {
			return 0, err
		}
	}
	dir, err := os.MkdirTemp("", "githandoff-capture-")
	if err != nil {
		return 0, fmt.Errorf("make a private directory: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "handoff.json")
	ctx = context.WithoutCancel(ctx) // a signal is for the agent; its document is handed over afterwards
	if code, err = h.Run(ctx, r.Command, path); err != nil {
		return code, fault.New(fault.NotFound, fault.NoSuchCommand, "%w", err)
	}
	document, err := fromFile(path)
	switch {
	case err == nil && document == nil:
		return code, h.nothing(r, code)
	case err == nil:
		err = h.handOver(ctx, r, document)
	}
	if err != nil {
		h.Warn(err)
	}
	return code, nil
}

// nothing says that the command left no document. A caller that named a target waits for a
// handoff there: if the command succeeded, that is a failure.
func (h *Handler) nothing(r *Request, code int) error {
	nothing := fault.New(fault.NotFound, fault.NothingLeft, "the command wrote no file at $%s: nothing is handed over", PathVar).
		WithHints(fault.Run("githandoff", "help", "formats").Because("shows what an agent writes there"))
	switch {
	case code == 0 && r.To != "":
		return nothing
	case r.To != "":
		h.Warn(nothing)
	case code == 0:
		h.Say("githandoff: %s", nothing.Message)
	}
	return nil
}

// handOver sends a document, or prints one that names nobody. A document that is refused is
// kept.
func (h *Handler) handOver(ctx context.Context, r *Request, document []byte) error {
	env, err := h.read(r, document, "")
	sent := false
	switch {
	case err != nil:
	case r.To != "", env.Target.Agent != nil, env.Status != handoff.StatusComplete:
		sent, err = h.send(ctx, r, env)
	default:
		err = h.print(env)
	}
	if err == nil || sent {
		return err
	}
	kept, kerr := h.setAside(ctx, document)
	if kerr != nil {
		return errors.Join(err, kerr)
	}
	return fault.About("what the command left is kept as "+kept, err)
}
