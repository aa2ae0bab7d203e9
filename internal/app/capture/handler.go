// Package capture hands over what a coding agent left behind: the document that a command
// wrote, the last block of a log, or the last message that a client printed.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/screen"
	"githandoff/internal/untrusted"
)

// PathVar names the variable that tells an agent where to leave a document, as in Kelos.
const PathVar = "KELOS_HANDOFF_PATH"

// DefaultPath is where agents of Kelos leave a document if that variable is not set.
const DefaultPath = "/tmp/kelos-handoff.json"

const maxDocument = 1 << 20 // bytes

// Request is one capture. At most one of Command, Log and Message is set; without any, the
// document at Path is read.
type Request struct {
	To      string   // target; "" for the one that the document names
	Command []string // command to run
	Log     string   // path of a log; "-" for standard input
	Message string   // path of a file with the output of a client; "-" for standard input
	Path    string
}

// Handler hands over what agents left behind.
type Handler struct {
	// Check refuses a target that no handoff can reach.
	Check func(ctx context.Context, to string) error

	// Send hands env over. sent reports whether the handoff is durable, also beside an error.
	Send func(ctx context.Context, to string, env *handoff.Envelope) (sent bool, err error)

	// Draft reads a document, of an unknown format if format is "", and lays the flags of
	// the command line over it. name is its file, "" for none.
	Draft func(document []byte, name, format string) (*handoff.Envelope, error)

	Open func(name string) (io.ReadCloser, error) // opens a file; "-" is standard input
	Run  func(ctx context.Context, argv []string, path string) (code int, err error)
	Keep func(ctx context.Context) string // returns the directory for refused documents
	Out  io.Writer
	Self []string // first words of a githandoff command line
	Say  func(format string, args ...any)
	Warn func(error)
}

// Handle carries out a capture. code is the exit status of the command, if one was run; an
// error beside it says why the command could not be started.
func (h *Handler) Handle(ctx context.Context, r *Request) (code int, err error) {
	if len(r.Command) > 0 {
		return h.runCommand(ctx, r)
	}
	name := ""
	if r.Log == "" && r.Message == "" {
		name = r.Path
	}
	document, err := h.left(r)
	if err != nil || document == nil {
		return 0, err
	}
	env, err := h.read(r, document, name)
	if err != nil {
		return 0, err
	}
	if r.To == "" {
		return 0, h.print(env)
	}
	_, err = h.send(ctx, r, env)
	return 0, err
}

// left returns the document that an agent left, nil if it left none and that is no failure.
func (h *Handler) left(r *Request) (document []byte, err error) {
	nothing := ""
	switch {
	case r.Message != "":
		return h.fromMessage(r)
	case r.Log != "":
		document, err = h.fromLog(r)
		nothing = "the log holds no handoff and no last message of an agent"
	default:
		document, err = fromFile(r.Path)
		nothing = "the agent wrote no file at " + untrusted.Line(r.Path)
	}
	if err == nil && document == nil {
		err = h.nothing(r, nothing, fault.Run("githandoff", "help", "formats").Because("shows what an agent leaves"))
	}
	return document, err
}

// nothing says why there is no document. A caller that named a target waits for a handoff there:
// that is a failure, and otherwise a remark.
func (h *Handler) nothing(r *Request, why string, hint fault.Hint) error {
	if r.To != "" {
		return fault.New(fault.NotFound, fault.NothingLeft, "%s: nothing is handed over", why).WithHints(hint)
	}
	h.Say("githandoff: %s: nothing is handed over", why)
	return nil
}

// fromFile returns the document at path, nil if there is no file.
func fromFile(path string) ([]byte, error) {
	b, _, err := private.ReadDocument(path, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.About(path, err)
	}
	return append([]byte{}, b...), nil // an empty file is not nil, which means that there is no file
}

// fromLog returns the last document in a log, nil if there is none.
func (h *Handler) fromLog(r *Request) ([]byte, error) {
	f, err := h.Open(r.Log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	log, err := dialect.ReadLog(f)
	if err != nil {
		return nil, err
	}
	if err := h.cutOff(r, log); err != nil {
		return nil, err
	}
	return log.Left()
}

// cutOff refuses to send from a log that ends within a document: the previous document is of
// an earlier task, and only the caller can ask for that one. To print it, a warning is enough.
func (h *Handler) cutOff(r *Request, log dialect.Log) error {
	err := log.CutOff()
	switch {
	case err == nil:
		return nil
	case r.To == "":
		if log.Handoff.Found {
			err = fmt.Errorf("%w; the previous one is printed", err)
		}
		h.Warn(err)
		return nil
	case log.Handoff.Found && r.Log != "-":
		capture := append(slices.Clone(h.Self), "capture", "--from-log")
		first, second := fault.Arg(append(capture, r.Log)...), fault.Arg(append(capture, "-", "--to", r.To)...)
		return fault.As(err).WithHints(fault.Run("sh", "-c", first+" | "+second).Because("hands over the previous one"))
	}
	return fault.As(err).WithHints(fault.Hint{Why: "the end of the log holds the handoff; read the log again once the agent has ended"})
}

// fromMessage returns the last message of an agent as a document, nil if the agent said nothing.
func (h *Handler) fromMessage(r *Request) ([]byte, error) {
	f, err := h.Open(r.Message)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := dialect.LastMessage(f)
	if f := fault.As(err); f != nil {
		return nil, f.WithHints(fault.Run("githandoff", "capture", "--help").Because("lists the clients whose output it reads"))
	}
	if err != nil {
		return nil, err // the file could not be read
	}
	if m.Text != "" {
		return m.Document()
	}
	what := "the agent said nothing at its end"
	if m.Failed != "" {
		what = "the agent ended without a last message (" + m.Failed + ")"
	}
	return nil, h.nothing(r, what, fault.Run("githandoff", "emit", "--help").Because("shows how a handoff is written by hand"))
}

// read reads a document. A log, and a document of no known format that Kelos can read, is of
// Kelos.
func (h *Handler) read(r *Request, document []byte, name string) (*handoff.Envelope, error) {
	format := ""
	_, err := dialect.Detect(document)
	_, kelos := dialect.Import(dialect.Kelos, document)
	if r.Log != "" || dialect.Untold(err) && kelos == nil {
		format = dialect.Kelos
	}
	return h.Draft(document, name, format)
}

// print prints a document between markers, as Kelos does.
func (h *Handler) print(env *handoff.Envelope) error {
	if err := screen.Envelope(env); err != nil {
		return err
	}
	document, warnings, err := dialect.Export(dialect.Kelos, env)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		h.Warn(errors.New(w))
	}
	_, err = h.Out.Write(dialect.KelosBlock(document))
	return err
}

// send hands a draft over. The target was chosen before anybody knew how the agent would end:
// a person decides who helps an agent that is blocked, at the same home.
func (h *Handler) send(ctx context.Context, r *Request, env *handoff.Envelope) (sent bool, err error) {
	to := r.To
	if to != "" && env.Status == handoff.StatusBlocked && env.Target.Agent == nil {
		if agent, alias, err := handoff.ParseTarget(to); err == nil && agent != nil {
			h.Say("githandoff: it is blocked, and waits for a decision instead of going to %s", to)
			if to = ""; alias != "" {
				to = "@" + alias
			}
		}
	}
	return h.Send(ctx, to, env)
}

// setAside keeps a document that was refused: an agent may have worked long for it.
func (h *Handler) setAside(ctx context.Context, document io.Reader) (string, error) {
	dir := h.Keep(ctx)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "captured-*.json.rejected")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, document)
	return f.Name(), errors.Join(err, f.Close())
}
