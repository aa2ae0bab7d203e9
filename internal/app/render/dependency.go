package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/prompt"
	"githandoff/internal/receipt"
	"githandoff/internal/screen"
	"githandoff/internal/untrusted"
)

// maxDocument bounds a document held in memory, in bytes. A log has no limit.
const maxDocument = 1 << 20

// dependencies finds the handoffs, documents and logs named by a request.
func (b *builder) dependencies(ctx context.Context, r Request) (map[string]*prompt.Dependency, error) {
	deps := map[string]*prompt.Dependency{}
	for _, dep := range r.Deps {
		found, err := b.dependency(ctx, dep)
		if err != nil {
			return nil, fault.About("--dep "+dep.Name, err)
		}
		deps[dep.Name] = found
	}
	for _, result := range r.Results {
		if deps[result.Dep] == nil {
			deps[result.Dep] = &prompt.Dependency{Results: map[string]string{}}
		}
		deps[result.Dep].Results[result.Key] = result.Value
	}
	return deps, nil
}

// dependency finds one. An argument is tried as a whole id, then as a file, then as the last
// characters of an id.
func (b *builder) dependency(ctx context.Context, dep Dep) (*prompt.Dependency, error) {
	arg := dep.Arg
	if arg == "" {
		return nil, nil
	}
	_, noID := handoff.ParseID(strings.TrimPrefix(arg, "…"))
	if noID != nil && !strings.HasPrefix(arg, "…") {
		f, err := b.Open(arg)
		if err == nil {
			defer f.Close()
			b.sources[dep.Name] = untrusted.Line(arg)
			return b.fileDependency(arg, f)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(arg) < handoff.MinSuffix || len(arg) > 26 || strings.ContainsAny(arg, "./") {
			return nil, err
		}
	}
	ws, err := b.Workspace(ctx)
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, ws, arg)
	if err != nil {
		return nil, err
	}
	if found.open {
		b.sources[dep.Name] = "githandoff show " + string(found.id) + " --detail"
	}
	return depOf(found)
}

// depOf returns a handoff as templates see it.
func depOf(found *quote) (*prompt.Dependency, error) {
	dep := &prompt.Dependency{Results: map[string]string{}}
	if env := found.envelope; env != nil {
		dep.Handoff = handoffOf(env)
		sourceOf(env, dep.Results)
	} else {
		dep.Handoff = &prompt.Handoff{Summary: found.ancestor.Summary, Data: found.ancestor.Data}
	}
	if r := found.receipt; r != nil {
		maps.Copy(dep.Results, receipt.DecodeResults(r.Data))
	}
	return dep, screen.Map("results", dep.Results)
}

func handoffOf(env *handoff.Envelope) *prompt.Handoff {
	return &prompt.Handoff{Summary: cmp.Or(env.Summary, env.Goal), Detail: &env.Detail, Data: env.Data}
}

func sourceOf(env *handoff.Envelope, results map[string]string) {
	for k, v := range map[string]string{"branch": env.Source.Branch, "commit": env.Source.Commit} {
		if v != "" {
			results[k] = v
		}
	}
}

// fileDependency reads a document, or a log with markers. A log may hold results and no
// handoff.
func (b *builder) fileDependency(name string, f io.ReadSeeker) (*prompt.Dependency, error) {
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
		b.Warn(fmt.Errorf("%s: the log ends inside the outputs of the agent; none are used", name))
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
		env, err = b.Read(format, doc)
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

// readLimited reads a document to hold in memory.
func readLimited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(b) > maxDocument {
		err = fault.New(fault.Invalid, fault.TooLarge, "more than %d bytes, and no markers of a log", maxDocument)
	}
	return b, err
}
