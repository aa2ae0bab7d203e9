package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
)

// runCommand runs an agent and hands over the document that it wrote. A target that would
// refuse every handoff is refused before the agent has worked for nothing. If a named target got
// nothing from a command that succeeded, that is an error, else it is a warning.
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
		return code, fault.New(fault.Code(code), fault.NoSuchCommand, "%w", err)
	}
	sent := false
	document, err := fromFile(path)
	switch {
	case fault.Is(err, fault.TooLarge):
		err = h.keepLarge(ctx, path, err)
	case err != nil:
	case document != nil:
		sent, err = h.handOver(ctx, r, document)
	case r.To != "" || code == 0:
		err = h.nothing(r, "the command wrote no file at $"+PathVar,
			fault.Run("githandoff", "help", "formats").Because("shows what an agent writes there"))
	}
	if err != nil && (code != 0 || sent || r.To == "") {
		h.Warn(err)
		err = nil
	}
	return code, err
}

// handOver sends a document, or prints one that names nobody. A document that is refused is
// kept.
func (h *Handler) handOver(ctx context.Context, r *Request, document []byte) (sent bool, err error) {
	env, err := h.read(r, document, "")
	switch {
	case err != nil:
	case r.To != "", !env.LacksTarget():
		sent, err = h.send(ctx, r, env)
	default:
		err = h.print(env)
	}
	if err == nil || sent {
		return sent, err
	}
	if dialect.Untold(err) { // capture has no flags for such a document
		err = fault.As(err).WithHints(fault.SeeAll("emit").
			Because("--format with -f reads the file as the format that it names; --goal with --detail @- hands over a text as it is"))
	}
	return false, h.keep(ctx, bytes.NewReader(document), err)
}

// keepLarge keeps a file that is too large for a document.
func (h *Handler) keepLarge(ctx context.Context, path string, refusal error) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.Join(refusal, err)
	}
	defer f.Close()
	return h.keep(ctx, f, refusal)
}

// keep keeps a document that was refused, and says in the refusal where it is.
func (h *Handler) keep(ctx context.Context, document io.Reader, refusal error) error {
	kept, err := h.setAside(ctx, document)
	if err != nil {
		return errors.Join(refusal, err)
	}
	return fault.About("what the command left is kept as "+kept, refusal)
}
