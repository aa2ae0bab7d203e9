// Package render makes a prompt from a template, from the handoffs it depends on, and from the
// history.
package render

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/prompt"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// Dep names a dependency of a template.
type Dep struct {
	Name string // NAME of .Deps.NAME in the template
	Arg  string // id, end of an id, or path of a file; "" for none
}

// DepResult is a result of a dependency.
type DepResult struct{ Dep, Key, Value string }

// Request is one prompt to make.
type Request struct {
	Name     string // name of the template, for errors
	Template string
	Vars     map[string]string
	Deps     []Dep
	Results  []DepResult
	History  string
	MaxBytes int // 0 for no limit
}

// Result is a prompt.
type Result struct {
	Text  string
	Bytes int // length of the whole prompt, before a cut
	Cut   bool
}

// Handler makes prompts.
type Handler struct {
	Workspace func(ctx context.Context) (*workspace.Workspace, error)         // opened when it is needed first
	Open      func(name string) (io.ReadSeekCloser, error)                    // opens a file of any size
	Read      func(format string, document []byte) (*handoff.Envelope, error) // reads a draft; an empty format is detected
	Random    io.Reader
	Warn      func(error)
}

// Render makes one prompt.
func (h *Handler) Render(ctx context.Context, r Request) (*Result, error) {
	b := &builder{Handler: h, sources: map[string]string{}}
	in := prompt.Input{Vars: r.Vars, History: r.History}
	var err error
	if in.Deps, err = b.dependencies(ctx, r); err != nil {
		return nil, err
	}
	p, err := prompt.Render(r.Name, r.Template, in, func(s string) (string, error) {
		fenced, err := untrusted.Fence(h.Random, s, "written by somebody else")
		return string(fenced), err
	})
	if err != nil {
		return nil, err
	}
	done := &Result{Text: p.Text, Bytes: len(p.Text)}
	if r.MaxBytes > 0 && done.Bytes > r.MaxBytes {
		done.Cut = true
		done.Text, err = p.Cut(r.MaxBytes, b.rest())
	}
	return done, err
}

// builder makes one prompt.
type builder struct {
	*Handler
	sources map[string]string // where a reader finds the whole text of a dependency, by its name
}

// rest says where the reader of a shortened prompt finds the whole texts.
func (b *builder) rest() string {
	var where []string
	for _, name := range slices.Sorted(maps.Keys(b.sources)) {
		where = append(where, b.sources[name])
	}
	if len(where) == 0 {
		return "githandoff render without --max-bytes"
	}
	return strings.Join(where, ", ")
}
