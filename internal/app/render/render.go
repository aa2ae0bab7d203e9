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
	"githandoff/internal/record"
	"githandoff/internal/untrusted"
)

// Dep names a dependency of a template.
type Dep struct {
	Name string // .Deps.NAME
	Arg  string // an id, the end of one, or a file; "" for none
}

// DepResult is a result of a dependency.
type DepResult struct{ Dep, Key, Value string }

// Request is one prompt to make.
type Request struct {
	Name     string // of the template, for errors
	Template string
	Vars     map[string]string
	Deps     []Dep
	Results  []DepResult
	History  string
	MaxBytes int // 0: no limit
}

// Result is a prompt.
type Result struct {
	Text  string
	Bytes int // of the whole prompt
	Cut   bool
}

// Found is a handoff needed by a template.
type Found struct {
	ID       handoff.ID
	Open     bool              // it is in an inbox, where "show" finds it
	Envelope *handoff.Envelope // nil if only Ancestor is left
	Ancestor *handoff.Ancestor // a quotation in a later handoff
	Receipt  *record.Record    // nil while it is under way
}

// Handoffs finds handoffs by id.
type Handoffs interface {
	Find(ctx context.Context, arg string) (*Found, error)
}

// Files opens files of any size, which can be read twice.
type Files interface {
	Open(name string) (io.ReadSeekCloser, error)
}

// Documents reads a document as the draft of a handoff. An empty format is detected.
type Documents interface {
	Read(format string, b []byte) (*handoff.Envelope, error)
}

// Handler makes prompts.
type Handler struct {
	Handoffs  Handoffs
	Files     Files
	Documents Documents
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
	sources map[string]string // by dependency: where a reader finds its whole text
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
