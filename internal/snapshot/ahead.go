package snapshot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

// maxAhead bounds the commits that a snapshot brings along. If the home has nothing of the history,
// the user has to push it.
const maxAhead = 1000

// ahead describes the commits of HEAD not known to be at the home.
type ahead struct {
	base    string // newest commit of HEAD's history that the home has; "" if none is known
	commits []string
	bytes   int64
	objects map[string]bool // ids of the objects of those commits
	changed []delta         // paths changed by those commits
}

// delta is one changed path.
type delta struct {
	path   string
	before string // id of the blob; "" for none
	after  string

	committed bool // a commit ahead of the home has it, and travels even if the file is gone
}

// lookAhead finds the commits of HEAD not known to be at the home.
func lookAhead(ctx context.Context, repo *refs.Repo, q Request) (*ahead, error) {
	if !q.Away {
		return &ahead{base: repo.Head}, nil
	}
	args := []string{"rev-list", "--topo-order", "--boundary", "--max-count=" + strconv.Itoa(maxAhead+1), "HEAD"}
	if q.Remote != "" {
		args = append(args, "--not", "--remotes="+escapeGlob(q.Remote))
	}
	out, err := git(ctx, repo, "", args...)
	if err != nil {
		return nil, gitFailed(err, "look for commits that the home lacks")
	}
	a := &ahead{}
	var edge []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if oid, ok := strings.CutPrefix(line, "-"); ok {
			edge = append(edge, oid)
		} else if line != "" {
			a.commits = append(a.commits, line)
		}
	}
	switch {
	case len(a.commits) == 0:
		a.base = repo.Head
		return a, nil
	case len(a.commits) > maxAhead:
		return nil, overLimit("the home lacks more than %d commits of HEAD", maxAhead).
			WithHints(fault.Fact("push the branch that HEAD is based on first"))
	}
	if len(edge) > 0 {
		if a.base, err = newest(ctx, repo, edge); err != nil {
			return nil, err
		}
	}
	if err := a.weigh(ctx, repo, edge); err != nil {
		return nil, err
	}
	if err := q.fits(0, a.bytes); err != nil {
		return nil, err
	}
	return a, a.list(ctx, repo, edge)
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// newest returns the one of some commits that git lists first.
func newest(ctx context.Context, repo *refs.Repo, commits []string) (string, error) {
	out, err := git(ctx, repo, strings.Join(commits, "\n")+"\n", "rev-list", "--no-walk=sorted", "--max-count=1", "--stdin")
	return strings.TrimSpace(out), err
}

// beyond returns the lines to ask git for the commits of HEAD behind an edge.
func beyond(edge []string) string {
	ask := "HEAD\n"
	for _, oid := range edge {
		ask += "^" + oid + "\n"
	}
	return ask
}

// weigh counts the bytes of the objects in those commits.
func (a *ahead) weigh(ctx context.Context, repo *refs.Repo, edge []string) error {
	out, err := git(ctx, repo, beyond(edge), "rev-list", "--objects", "--no-object-names", "--stdin")
	if err == nil {
		oids := strings.Fields(out)
		a.objects = map[string]bool{}
		for _, oid := range oids {
			a.objects[oid] = true
		}
		a.bytes, err = refs.SizeOf(ctx, repo, oids)
	}
	if err != nil {
		return fmt.Errorf("count what the home lacks: %w", err)
	}
	return nil
}

// list reads the paths changed by those commits. For a merge it reads only the paths different
// from all its parents: the other commits have the merged changes, but not an edit made in the
// merge.
func (a *ahead) list(ctx context.Context, repo *refs.Repo, edge []string) error {
	out, err := git(ctx, repo, beyond(edge), "-c", "log.showRoot=true", "log", "--stdin", "--format=", "--no-show-signature", "--raw", "-z", "-r",
		"--no-renames", "--no-abbrev", "--no-relative", "--diff-merges=combined", "--ignore-submodules=none", "--root")
	if err != nil {
		return fmt.Errorf("list what the home lacks: %w", err)
	}
	a.changed, err = parseRaw(out)
	return err
}

// parseRaw parses the paths in the output of "git log --raw -z" and "git diff-tree --raw -z".
func parseRaw(out string) ([]delta, error) {
	var list []delta
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(strings.TrimLeft(fields[i], "\n"))
		parents := len(fields[i]) - len(strings.TrimLeft(fields[i], "\n:")) - strings.Count(fields[i], "\n")
		if parents == 0 || len(f) != 2*parents+3 {
			return nil, fmt.Errorf("compare commits: git says %q", fields[i])
		}
		d := delta{path: fields[i+1], before: gitobj.ID(f[parents+1]), after: gitobj.ID(f[2*parents+1])}
		if strings.HasSuffix(f[parents], gitobj.Gitlink) {
			d.after = ""
		}
		list = append(list, d)
	}
	return list, nil
}

func git(ctx context.Context, repo *refs.Repo, stdin string, args ...string) (string, error) {
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: args, Stdin: strings.NewReader(stdin)})
	return string(out), err
}
