package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"

	"githandoff/internal/app/quote"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/prompt"
	"githandoff/internal/receipt"
	"githandoff/internal/screen"
)

// dependencies finds what --dep and --dep-result name.
func (w *workshop) dependencies(ctx context.Context, c *renderCommand) (map[string]*prompt.Dependency, error) {
	deps := map[string]*prompt.Dependency{}
	for _, flag := range c.deps {
		name, what, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, usage("--dep %s: want NAME=ID, NAME=FILE, or NAME= for none", printable(flag))
		}
		if _, twice := deps[name]; twice {
			return nil, usage("--dep %s: given twice", printable(name))
		}
		dep, err := w.dependency(ctx, name, what)
		if err != nil {
			return nil, fault.About("--dep "+name, err)
		}
		deps[name] = dep
	}
	for _, flag := range c.depResults {
		if err := w.addResult(deps, flag); err != nil {
			return nil, err
		}
	}
	return deps, nil
}

// addResult reads NAME.K=V. A name may have dots itself: it is one that --dep
// gave.
func (w *workshop) addResult(deps map[string]*prompt.Dependency, flag string) error {
	path, v, ok := strings.Cut(flag, "=")
	name := ""
	for n := range deps {
		if len(n) > len(name) && strings.HasPrefix(path, n+".") {
			name = n
		}
	}
	key := strings.TrimPrefix(path, name+".")
	switch {
	case !ok || !strings.Contains(path, "."):
		return usage("--dep-result %s: want NAME.K=V", printable(flag))
	case name == "":
		return usage("--dep-result %s: no such dependency", printable(path)).
			WithHints(fault.See("render").Because("--dep names each dependency before its results"))
	case key == "":
		return usage("--dep-result %s: want NAME.K=V", printable(flag))
	}
	if deps[name] == nil {
		deps[name] = &prompt.Dependency{Results: map[string]string{}}
	}
	deps[name].Results[key] = v
	return nil
}

// dependency reads one: a whole id means a handoff, then a file that is there is
// meant, then the last characters of an id.
func (w *workshop) dependency(ctx context.Context, name, what string) (*prompt.Dependency, error) {
	if what == "" {
		return nil, nil
	}
	_, noID := handoff.ParseID(strings.TrimPrefix(what, "…"))
	if noID != nil && !strings.HasPrefix(what, "…") {
		f, err := w.openInput(what)
		if err == nil {
			defer f.Close()
			w.places[name] = printable(what)
			return w.fileDependency(what, f)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(what) < handoff.MinSuffix || len(what) > 26 || strings.ContainsAny(what, "./") {
			return nil, err
		}
	}
	d, err := w.desk(ctx)
	if err != nil {
		return nil, err
	}
	found, err := quote.New(d).Find(ctx, what)
	if err != nil {
		return nil, err
	}
	if found.Open {
		w.places[name] = "githandoff show " + string(found.ID) + " --detail"
	}
	return depOf(found)
}

// depOf is a handoff as templates see it.
func depOf(found *quote.Quote) (*prompt.Dependency, error) {
	dep := &prompt.Dependency{Results: map[string]string{}}
	if env := found.Envelope; env != nil {
		dep.Handoff = handoffOf(env)
		sourceOf(env, dep.Results)
	} else {
		dep.Handoff = &prompt.Handoff{Summary: found.Ancestor.Summary, Data: found.Ancestor.Data}
	}
	if r := found.Receipt; r != nil {
		maps.Copy(dep.Results, receipt.DecodeResults(r.Data))
	}
	return dep, screen.Map("results", dep.Results)
}

func handoffOf(env *handoff.Envelope) *prompt.Handoff {
	h := &prompt.Handoff{Summary: env.Summary, Detail: &env.Detail, Data: env.Data}
	if h.Summary == "" {
		h.Summary = env.Goal
	}
	return h
}

func sourceOf(env *handoff.Envelope, results map[string]string) {
	for k, v := range map[string]string{"branch": env.Source.Branch, "commit": env.Source.Commit} {
		if v != "" {
			results[k] = v
		}
	}
}

// fileDependency reads a document, or a log with markers. A log may have left
// results and no handoff.
func (w *workshop) fileDependency(name string, f io.ReadSeeker) (*prompt.Dependency, error) {
	log, err := dialect.ReadLog(f)
	if err != nil {
		return nil, err
	}
	if log.Handoff.Cut {
		return nil, fault.About(name, dialect.CutOff())
	}
	outputs, results, err := log.Results()
	if err != nil {
		return nil, err
	}
	if log.Outputs.Cut {
		w.Warn(fmt.Errorf("%s: the log ends inside the outputs of the agent; none are used", name))
	}
	dep := &prompt.Dependency{Outputs: outputs, Results: map[string]string{}}
	isLog, format := log.Handoff.Found, dialect.Kelos
	doc, err := log.HandoffText()
	if !isLog {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		doc, err = readLimited(f)
		format = ""
	}
	var env *handoff.Envelope
	if err == nil {
		env, err = (&documents{w.app}).draft(paper{format: format}, doc)
	}
	switch {
	case err == nil:
		if err := screen.Envelope(env); err != nil {
			return nil, err
		}
		dep.Handoff = handoffOf(env)
		sourceOf(env, dep.Results)
	case isLog:
		return nil, fault.About(name, err)
	case results == nil:
		return nil, fault.As(fault.About(name, err)).WithHints(fault.See("render").Because("an empty --dep value means that a dependency left no handoff"))
	}
	maps.Copy(dep.Results, results)
	if err := screen.Map("results", dep.Results); err != nil {
		return nil, err
	}
	return dep, screen.Text("outputs", strings.Join(outputs, "\n"))
}

// readLimited reads a document that is held in memory.
func readLimited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fault.New(fault.Invalid, fault.TooLarge, "more than %d bytes, and no markers of a log", maxInput)
	}
	return b, err
}

// input is a file that can be read twice.
type input interface {
	io.ReadSeeker
	io.Closer
}

// openInput opens a file of any size; what cannot be read twice, a pipe, is read
// into memory.
func (w *workshop) openInput(name string) (input, error) {
	if name == "-" {
		b, err := w.readInput(name)
		return inMemory{bytes.NewReader(b)}, err
	}
	f, err := w.openFile(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, nil
	}
	f.Close()
	if err != nil {
		return nil, err
	}
	b, err := w.readInput(name)
	return inMemory{bytes.NewReader(b)}, err
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }
