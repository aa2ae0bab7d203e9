// Package document reads documents of every format as drafts of handoffs. A refusal names the
// commands to hand the document over nevertheless.
package document

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/screen"
)

// Source says where a document came from and where it is to go, for hints.
type Source struct {
	Name   string // name of the file; "" or "-" for a stream, which cannot be read again
	Format string // format of the document; "" to detect it
	To     string // target; "" for the one that the document names
}

func (s Source) file() bool { return s.Name != "" && s.Name != "-" }

// value returns the value of a flag that reads the file. A text begins with @@, a path does not.
func (s Source) value() string {
	if strings.HasPrefix(s.Name, "@") {
		return "@./" + s.Name
	}
	return "@" + s.Name
}

// Reader reads documents.
type Reader struct {
	Warn func(error)
	Self []string // first words of a githandoff command line

	// Readable reports whether the value @name of a flag would be read: a file of another
	// directory is not.
	Readable func(name string) bool
}

// Import reads a document and warns of all tolerated errors in it.
func (r *Reader) Import(from Source, b []byte) (*dialect.Draft, error) {
	draft, err := dialect.Import(from.Format, b)
	if err != nil {
		return nil, r.withRemedies(from, b, err)
	}
	if w := r.takeAround(from, draft, b); w != "" {
		draft.Warnings = append(draft.Warnings, w)
	}
	for _, w := range draft.Warnings {
		r.Warn(errors.New(w))
	}
	return draft, nil
}

// Draft reads a document as the draft of a handoff. A token in it is dropped: it belongs to the
// handoff it names, whose holder passes authority on. So is a snapshot, which lies at the ref of its handoff.
func (r *Reader) Draft(from Source, b []byte) (*handoff.Envelope, error) {
	draft, err := r.Import(from, b)
	if err != nil {
		return nil, err
	}
	if draft.Token != "" || draft.Envelope.OBO != nil {
		draft.Envelope.OBO = nil
		r.Warn(fault.New(fault.Denied, fault.HandoffMismatch, "ignored the token in the document: it is for another handoff"))
	}
	if draft.Envelope.Work != nil {
		draft.Envelope.Work = nil
		r.Warn(errors.New("ignored the snapshot in the document: it is of another handoff"))
	}
	draft.Envelope.Status = cmp.Or(draft.Envelope.Status, handoff.StatusComplete)
	return &draft.Envelope, nil
}

// takeAround makes the text around the block of a Markdown file the detail of the handoff. It
// returns a warning if it cannot.
func (r *Reader) takeAround(from Source, draft *dialect.Draft, b []byte) string {
	bytes := len(draft.Around)
	err := draft.TakeAround()
	if err == nil {
		return ""
	}
	w := fmt.Sprintf("ignored %d bytes of text around the block: %v", bytes, err)
	var add fault.Hint
	switch {
	case !from.file():
		return w
	case fitsDetail(b, draft.Envelope.Data):
		add = r.emit(from, &draft.Envelope, "-f", from.Name, "--detail", from.value()).Because("hands over the whole file")
	default:
		add = r.emit(from, &draft.Envelope, "-f", from.Name, "--artifact", from.Name).Because("names the file, for a receiver that finds it in the repository")
	}
	return w + "; " + add.String()
}

// fitsDetail reports whether a text can be the detail of a handoff with this data.
func fitsDetail(b []byte, data map[string]string) bool {
	size := len(b)
	for k, v := range data {
		size += len(k) + len(v)
	}
	return size <= handoff.MaxDetail && strings.TrimSpace(string(b)) != "" && utf8.Valid(b) && screen.Text("detail", string(b)) == nil
}

// withRemedies adds, to the refusal of a document of no known format, commands to hand it over:
// in a fitting format, or as a text.
func (r *Reader) withRemedies(from Source, b []byte, err error) error {
	refusal := fault.As(err)
	if refusal == nil || !dialect.Untold(err) {
		return err
	}
	if !from.file() {
		return refusal.WithHints(fault.Hint{Why: "emit --format takes it for the format that it names; emit --goal and --detail hand over a text as it is"})
	}
	var hints []fault.Hint
	for _, format := range dialect.Formats() {
		if d, err := dialect.Import(format, b); err == nil && screen.Envelope(&d.Envelope) == nil {
			hints = append(hints, r.emit(from, &d.Envelope, "--format", format, "-f", from.Name).Because("reads it as %s, and keeps the members that %s does not define", format, format))
			break
		}
	}
	switch {
	case !fitsDetail(b, nil):
	case !r.Readable(from.Name):
		hints = append(hints, fault.Fact("--goal and --detail @- hand over standard input as it is"))
	default:
		goal := "Go on with " + filepath.Base(from.Name)
		hints = append(hints, r.emit(from, &handoff.Envelope{Status: handoff.StatusComplete}, "--goal", goal, "--detail", from.value()).
			Because("hands over the text as it is"))
	}
	if len(hints) == 0 {
		hints = []fault.Hint{{Why: "nothing in it can be handed over; write a summary of it"}}
	}
	return refusal.WithHints(hints...)
}

// emit returns a complete emit command. Without a target its handoff waits for a decision.
func (r *Reader) emit(from Source, env *handoff.Envelope, args ...string) fault.Hint {
	argv := append(slices.Clone(r.Self), "emit")
	switch {
	case from.To != "":
		argv = append(argv, "--to", from.To)
	case env.Target.Agent == nil && (env.Status == "" || env.Status == handoff.StatusComplete):
		argv = append(argv, "--status", handoff.StatusNeedsReview)
	}
	return fault.Run(append(argv, args...)...)
}
