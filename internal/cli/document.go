package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/screen"
)

// paper is where a document came from, and where it is to go, so that a hint can be
// pasted.
type paper struct {
	name   string // of the file; "" or "-" where there is none that can be read again
	format string // that the caller named; "" detects it
	to     string // target that the caller named
}

// documents reads handoffs of any format, and says how one that is refused can be mended.
type documents struct {
	*app
}

// imported reads a document and says what was tolerated in it.
func (r *documents) imported(p paper, b []byte) (*dialect.Draft, error) {
	draft, err := dialect.Import(p.format, b)
	if err != nil {
		return nil, r.mendable(p, b, err)
	}
	if w := r.takeAround(p, draft, b); w != "" {
		draft.Warnings = append(draft.Warnings, w)
	}
	for _, w := range draft.Warnings {
		r.Warn(errors.New(w))
	}
	return draft, nil
}

// takeAround hands over the text of a Markdown file as the detail of its block, or
// says why not.
func (r *documents) takeAround(p paper, draft *dialect.Draft, b []byte) string {
	bytes := len(draft.Around)
	err := draft.TakeAround()
	if err == nil {
		return ""
	}
	w := fmt.Sprintf("ignored %d bytes of text around the block: %v", bytes, err)
	var add fault.Hint
	switch {
	case !p.again():
		return w
	case isDetail(b, draft.Envelope.Data):
		add = r.emitCommand(p, &draft.Envelope, "-f", p.name, "--detail", "@"+p.name).Because("hands over the whole file")
	default:
		add = r.emitCommand(p, &draft.Envelope, "-f", p.name, "--artifact", p.name).Because("names the file, for a receiver that finds it in the repository")
	}
	return w + "; " + add.String()
}

func (p paper) again() bool { return p.name != "" && p.name != "-" }

// isDetail reports whether a text can be handed over as it is.
func isDetail(b []byte, data map[string]string) bool {
	size := len(b)
	for k, v := range data {
		size += len(k) + len(v)
	}
	return size <= handoff.MaxDetail && strings.TrimSpace(string(b)) != "" && utf8.Valid(b) && screen.Text("detail", string(b)) == nil
}

// mendable adds to a refusal of a document whose format nothing tells the commands
// that hand it over all the same.
func (r *documents) mendable(p paper, b []byte, err error) error {
	refusal := fault.As(err)
	if refusal == nil || !dialect.Untold(err) {
		return err
	}
	if !p.again() {
		return refusal.WithHints(fault.Hint{Why: "--format takes it for the format that it names; --goal and --detail hand over a text as it is"})
	}
	var hints []fault.Hint
	for _, format := range dialect.Formats() {
		if d, err := dialect.Import(format, b); err == nil && screen.Envelope(&d.Envelope) == nil {
			hints = append(hints, r.emitCommand(p, &d.Envelope, "--format", format, "-f", p.name).Because("reads it as %s, and keeps the members that %s does not define", format, format))
			break
		}
	}
	switch _, unread := r.readBelow(p.name); {
	case isDetail(b, nil) && unread != nil: // a text reads no file of another directory
		hints = append(hints, fault.Fact("--goal and --detail @- hand over standard input as it is"))
	case isDetail(b, nil):
		goal := "Go on with " + filepath.Base(p.name)
		hints = append(hints, r.emitCommand(p, &handoff.Envelope{Status: handoff.StatusComplete}, "--goal", goal, "--detail", "@"+p.name).
			Because("hands over the text as it is"))
	}
	if len(hints) == 0 {
		hints = []fault.Hint{{Why: "nothing in it can be handed over; write a summary of it"}}
	}
	return refusal.WithHints(hints...)
}

// emitCommand is a command that works as it stands: without a target the handoff
// waits for a decision.
func (r *documents) emitCommand(p paper, env *handoff.Envelope, args ...string) fault.Hint {
	argv := append(r.Self(), "emit")
	switch {
	case p.to != "":
		argv = append(argv, "--to", p.to)
	case env.Target.Agent == nil && (env.Status == "" || env.Status == handoff.StatusComplete):
		argv = append(argv, "--status", handoff.StatusNeedsReview)
	}
	return fault.Run(append(argv, args...)...)
}

// draft reads a document as the draft of a handoff.
func (r *documents) draft(p paper, b []byte) (*handoff.Envelope, error) {
	draft, err := r.imported(p, b)
	if err != nil {
		return nil, err
	}
	if draft.Token != "" || draft.Envelope.OBO != nil {
		// It goes with one handoff, in which it is. Authority is passed on by who
		// holds that one.
		draft.Envelope.OBO = nil
		r.Warn(fault.New(fault.Denied, fault.HandoffMismatch, "ignored the token in the document: it is for another handoff"))
	}
	if draft.Envelope.Status == "" {
		draft.Envelope.Status = handoff.StatusComplete
	}
	return &draft.Envelope, nil
}
