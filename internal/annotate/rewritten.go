package annotate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"githandoff/internal/gitobj"
	"githandoff/internal/notes"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// Rewrite is a commit replaced by amend or rebase, and the commit in its place.
type Rewrite struct{ Old, New string }

// maxRewritten bounds the remembered rewrites. A later line of a handoff does not reach a commit
// that was replaced before the newest ones of them.
const maxRewritten = 4096

// ReadRewrites reads the input of a post-rewrite hook, a line for each replaced commit: "<old> SP
// <new> [SP <more>] LF". A squash has several with one new commit.
func ReadRewrites(r io.Reader) ([]Rewrite, error) {
	var all []Rewrite
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 {
			all = append(all, Rewrite{f[0], f[1]})
		}
	}
	return all, lines.Err()
}

// Follow gives rewritten commits the lines of the commits they replace, and remembers the rewrites
// for later lines: a handoff that waits in the outbox has none yet. Existing lines are not written
// again, so it does not matter whether git copied the notes itself (notes.rewriteRef). Lines
// written by people are left to git.
func (n *Notes) Follow(ctx context.Context, rewrites []Rewrite) error {
	err := n.update(ctx, "Notes copied by githandoff", func(tree string, w *collector) (string, error) {
		lines := map[string][]string{}
		for _, rw := range rewrites {
			have, err := notes.ReadIn(ctx, w, tree, rw.Old)
			if err != nil {
				return "", err
			}
			if len(have) > 0 {
				lines[rw.New] = append(lines[rw.New], have...)
			}
		}
		return notes.AddTo(ctx, w, w, tree, lines)
	})
	return errors.Join(err, remember(ctx, n.Engine.Repo, rewrites))
}

// pathOf returns the file of remembered rewrites, a line "<old> <new>" for each, newest last.
func pathOf(repo *refs.Repo) string { return repo.Own("rewritten") }

func remember(ctx context.Context, repo *refs.Repo, rewrites []Rewrite) error {
	unlock, err := private.Lock(ctx, pathOf(repo)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := remembered(repo)
	if err != nil {
		return err
	}
	for _, rw := range rewrites {
		if gitobj.IsID(rw.Old) && gitobj.IsID(rw.New) {
			all = append(all, rw)
		}
	}
	var file strings.Builder
	for _, rw := range all[max(0, len(all)-maxRewritten):] {
		file.WriteString(rw.Old + " " + rw.New + "\n")
	}
	return private.WriteFile(pathOf(repo), []byte(file.String()))
}

func remembered(repo *refs.Repo) ([]Rewrite, error) {
	b, err := private.ReadState(pathOf(repo))
	if err != nil {
		return nil, fmt.Errorf("read the rewritten commits: %w", err)
	}
	return ReadRewrites(strings.NewReader(string(b)))
}

// followed adds the commits in place of rewritten ones, and leaves out commits missing in this
// repository.
func (n *Notes) followed(ctx context.Context, lines map[string][]string) (map[string][]string, error) {
	rewrites, err := remembered(n.Engine.Repo)
	if err != nil {
		return nil, err
	}
	next := map[string][]string{}
	for _, rw := range rewrites {
		next[rw.Old] = append(next[rw.Old], rw.New)
	}
	all := map[string][]string{}
	for commit, l := range lines {
		path := []string{commit}
		for i := 0; i < len(path); i++ {
			for _, c := range next[path[i]] {
				if !slices.Contains(path, c) {
					path = append(path, c)
				}
			}
			all[path[i]] = append(all[path[i]], l...)
		}
	}
	for commit := range all {
		o, err := n.Engine.Repo.Read(ctx, commit, maxCodeCommit)
		if err != nil || o == nil || o.Type != "commit" {
			delete(all, commit)
		}
	}
	return all, nil
}
