package cli

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// paged runs a function which prints to a terminal. Output longer than the screen goes through
// git's pager. An error of the function is returned afterwards.
func paged(ctx context.Context, a *app, repo *refs.Repo, print func() error) error {
	out, ok := a.Stdout.(*results)
	if !ok || !a.Terminal() {
		return print()
	}
	command := pagerOf(a, repo)
	_, height := sizeOf(out.w)
	if command == "" || command == "cat" || height == 0 {
		return print()
	}
	// The prompts of the pager and of the shell take two lines.
	p := &pager{app: a, ctx: context.WithoutCancel(ctx), command: command, screen: out.w, limit: height - 2}
	out.w = p
	err := print()
	out.w = p.screen
	return cmp.Or(err, p.close())
}

// pagerOf returns git's pager; empty or "cat" means none.
func pagerOf(a *app, repo *refs.Repo) string {
	if command, set := gitexec.Lookup(a.Vars, "GIT_PAGER"); set { // an empty value counts: it means no pager
		return command
	}
	if repo != nil && repo.Config["core.pager"] != nil { // an empty value counts here as well
		return repo.Config.Get("core.pager")
	}
	if command, set := gitexec.Lookup(a.Vars, "PAGER"); set {
		return command
	}
	return "less"
}

// columnsOf returns the width of the results' terminal, through a pager or not; zero if it is
// unknown, or there is none.
func columnsOf(w io.Writer) int {
	w = beneath(w)
	if p, ok := w.(*pager); ok {
		w = p.screen
	}
	width, _ := sizeOf(w)
	return width
}

// sizeOf returns the size of a terminal; zeros if it is none, or does not say.
func sizeOf(w io.Writer) (width, height int) {
	if f, ok := w.(*os.File); ok {
		width, height, _ = term.GetSize(int(f.Fd()))
	}
	return max(width, 0), max(height, 0)
}

// pager holds output back until it is longer than the screen, then starts the program. If the
// user leaves the program early, the rest is discarded.
type pager struct {
	*app
	ctx     context.Context
	command string
	screen  io.Writer
	limit   int // lines that fit on the screen

	held  bytes.Buffer // all output, to be printed if there is no such program
	lines int
	pipe  *io.PipeWriter // to the program; nil until it runs
	done  chan ended
}

// ended is how the program ended.
type ended struct {
	code int
	err  error
}

func (p *pager) Write(b []byte) (int, error) {
	p.held.Write(b)
	if p.pipe == nil {
		p.lines += bytes.Count(b, []byte("\n"))
		if p.lines <= p.limit {
			return len(b), nil
		}
		p.start()
		_, _ = p.pipe.Write(p.held.Bytes())
		return len(b), nil
	}
	_, _ = p.pipe.Write(b) // fails if the program has ended
	return len(b), nil
}

func (p *pager) start() {
	p.patience.Stop()
	read, write := io.Pipe()
	p.pipe, p.done = write, make(chan ended, 1)
	vars := p.Vars
	for _, kv := range [][2]string{{"LESS", "FRX"}, {"LV", "-c"}} { // git sets the same
		if p.Getenv(kv[0]) == "" {
			vars = withVar(vars, kv[0], kv[1])
		}
	}
	go func() {
		code, err := gitexec.Pipe(p.ctx, "", vars, []string{"sh", "-c", p.command}, read, p.screen, p.Stderr)
		read.Close()
		p.done <- ended{code, err}
	}()
}

func (p *pager) close() error {
	var end ended
	if p.pipe != nil {
		p.pipe.Close()
		end = <-p.done
	}
	if p.pipe == nil || end.code == gitexec.NotFound { // without its pager, git prints as well
		_, err := p.screen.Write(p.held.Bytes())
		return err
	}
	return end.err
}
