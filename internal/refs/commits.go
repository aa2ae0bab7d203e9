package refs

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"githandoff/internal/gitexec"
)

// maxListed bounds the commits that Commits shows: a record is far smaller.
const maxListed = 1 << 20

// Commits streams the commits that refs point to, in the order of the names. It
// costs two processes, however many there are: one that lists, one that reads.
// The bytes are only valid during the call. A ref to something else than a commit,
// or to one of more than a mebibyte, comes with no bytes.
func (r *Repo) Commits(ctx context.Context, visit func(ref Ref, raw []byte) error, patterns ...string) error {
	// git for-each-ref could print the commits itself, and would keep all of them.
	p, err := r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch", "--buffer"}, Env: []string{gitexec.MaxAlloc(32)}})
	if err != nil {
		return err
	}
	list, err := r.List(ctx, patterns...)
	if err != nil {
		p.Kill()
		return err
	}
	go func() {
		w := bufio.NewWriterSize(p.In, 64<<10)
		for _, ref := range list {
			_, _ = w.WriteString(ref.OID + "\n") // who reads the answers meets the error
		}
		_ = w.Flush()
		_ = p.In.Close()
	}()
	seen := 0
	var refused error // by visit
	err = readCommits(bufio.NewReaderSize(p.Out, 256<<10), list, func(ref Ref, raw []byte) error {
		refused = visit(ref, raw)
		seen++
		return refused
	})
	if refused != nil {
		p.Kill()
		return refused
	}
	if cerr := p.Close(); cerr == nil {
		return err
	}
	// git reads whole what is no blob. It gave up on one that is too large, and that
	// one is to be passed over.
	return r.commitsBySize(ctx, list[seen:], visit)
}

// commitsBySize is Commits for refs of which one is too large. It looks at sizes
// first.
func (r *Repo) commitsBySize(ctx context.Context, list []Ref, visit func(ref Ref, raw []byte) error) error {
	var ask strings.Builder
	for _, ref := range list {
		ask.WriteString(ref.OID + "\n")
	}
	out, err := r.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"cat-file", "--batch-check=%(objecttype) %(objectsize)"}, Stdin: strings.NewReader(ask.String()), MaxOutput: 1 << 30,
	})
	if err != nil {
		return fmt.Errorf("look at objects: %w", err)
	}
	answers := strings.SplitAfter(string(out), "\n")
	for i, ref := range list {
		if i >= len(answers) {
			break
		}
		kind, size, _ := strings.Cut(strings.TrimSpace(answers[i]), " ")
		var raw []byte
		if n, err := strconv.Atoi(size); err == nil && kind == "commit" && n <= maxListed {
			o, err := r.Read(ctx, ref.OID, maxListed)
			if err != nil {
				return err
			}
			if o != nil {
				raw = o.Body
			}
		}
		if err := visit(ref, raw); err != nil {
			return err
		}
	}
	return nil
}

// readCommits reads the answers of git cat-file to the refs of a list.
func readCommits(in *bufio.Reader, list []Ref, visit func(ref Ref, raw []byte) error) error {
	var buf []byte
	for _, ref := range list {
		a, err := readAnswer(in)
		if err != nil {
			return fmt.Errorf("read %s: %w", ref.Name, err)
		}
		var raw []byte // of a commit of a size that is allowed
		switch {
		case a.kind == "":
		case a.kind != "commit" || a.size > maxListed:
			err = a.skip(in)
		default:
			raw, err = a.body(in, buf)
			buf = raw
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", ref.Name, err)
		}
		if err := visit(ref, raw); err != nil {
			return err
		}
	}
	return nil
}
