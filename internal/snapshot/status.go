package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// change is one path named by "git status".
type change struct {
	path     string
	staged   byte // X of git status: index against HEAD, '.' for no change
	unstaged byte // Y of git status: work tree against index
	sub      string
	inIndex  string // mode in the index; "000000" for none
	inTree   string // mode in the work tree
	head     string // object id in HEAD; "" for none
	oid      string // object id in the index
}

// untracked marks a path unknown to git.
const untracked = '?'

func (c *change) isUntracked() bool { return c.staged == untracked }

// isIntent reports whether "git add --intent-to-add" named the path, so that no index has its
// content.
func (c *change) isIntent() bool { return c.unstaged == 'A' }

// mayBeGoneIntent reports whether "git add --intent-to-add" may have named the path, whose file is
// gone. git says of such a path that HEAD has it too, as an empty file.
func (c *change) mayBeGoneIntent() bool {
	return c.staged == '.' && c.unstaged == 'D' && c.oid == gitobj.FormatOf(c.oid).Hash("blob", nil)
}

// isRead reports whether the content of the path in the work tree is part of the snapshot.
func (c *change) isRead() bool {
	return c.isUntracked() || c.unstaged != '.' && c.unstaged != 'D'
}

// stagedFile returns the new entry of the index; the zero value if the index has none.
func (c *change) stagedFile() file {
	if c.isUntracked() || c.staged == '.' || c.staged == 'D' {
		return file{}
	}
	return file{c.inIndex, c.oid}
}

// readStatus lists the changes in a work tree, by path: those of all files known to git, and the
// other files if others is "all". The user's settings leave nothing out, and add nothing: git itself
// ignores status.branch in this format, but not status.showStash.
func readStatus(ctx context.Context, run *gitexec.Runner, others string) ([]change, error) {
	out, err := run.Run(ctx, gitexec.Cmd{Args: []string{
		"status", "--porcelain=v2", "-z",
		"--untracked-files=" + others, "--ignored=no", "--no-renames", "--no-show-stash", "--ignore-submodules=none",
	}})
	if err != nil {
		return nil, gitFailed(err, "read the state of the work tree")
	}
	var all []change
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(line) == 0 {
			continue
		}
		c, err := parseChange(string(line))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// parseChange reads one line of the format "porcelain v2" (git-status).
func parseChange(line string) (change, error) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "?":
		return change{path: rest, staged: untracked, unstaged: untracked}, nil
	case "1":
		f := strings.SplitN(rest, " ", 8)
		if len(f) == 8 && len(f[0]) == 2 {
			return change{
				staged: f[0][0], unstaged: f[0][1], sub: f[1], inIndex: f[3], inTree: f[4], head: gitobj.ID(f[5]), oid: f[6], path: f[7],
			}, nil
		}
	case "u":
		f := strings.SplitN(rest, " ", 10)
		if len(f) == 10 {
			return change{staged: 'u', unstaged: 'u', path: f[9]}, nil
		}
	}
	return change{}, fmt.Errorf("git status says %q", line)
}
