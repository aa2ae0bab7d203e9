package guard

import (
	"bufio"
	"context"
	"fmt"

	"githandoff/internal/gitexec"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
)

// atHub returns the arguments of rev-list to leave out commits the hub has: those of the namespace of
// git to which the push goes. The snapshots of handoffs do not count, because a commit in a snapshot was
// not checked against a token; nor do namespaces below, whose claims count only there.
func atHub(n names) []string {
	args := []string{"--not"}
	for _, ref := range []string{string(refs.LocalNamespace) + "work/*", n.there(string(refs.LocalNamespace) + "work/*"), spaces + "*"} {
		args = append(args, "--exclude="+n.space+ref)
	}
	if n.space != "" {
		return append(args, "--glob="+n.space)
	}
	return append(args, "--all")
}

// atClient excludes the commits that the remotes had when they were last seen, and those that the
// pushed remote has now, as far as they are known here.
func atClient(edits []refs.Edit) []string {
	args := []string{"--ignore-missing", "--not", "--remotes"}
	for _, e := range edits[:min(len(edits), maxAgentRefs)] {
		if e.Old != "" {
			args = append(args, e.Old)
		}
	}
	return args
}

// newCommits visits the ids of the commits brought by edits, except those left out by others.
func newCommits(ctx context.Context, repo *refs.Repo, edits []refs.Edit, others []string, visit func(oid string) error) error {
	p, err := repo.Runner.Start(ctx, gitexec.Cmd{Args: append([]string{"rev-list", "--stdin"}, others...)})
	if err != nil {
		return err
	}
	// If git ends early, its exit status gives the reason. Input that it did not read is not an
	// error.
	in := bufio.NewWriter(p.In)
	for _, tip := range newTips(edits) {
		fmt.Fprintln(in, tip)
	}
	_ = in.Flush()
	_ = p.In.Close()
	out := bufio.NewScanner(p.Out)
	for out.Scan() {
		if err := visit(out.Text()); err != nil {
			p.Kill()
			return err
		}
	}
	return p.Close()
}

// newTips returns the objects to which a push moves its refs.
func newTips(edits []refs.Edit) []string {
	var tips []string
	for _, e := range edits {
		if e.New != "" {
			tips = append(tips, e.New)
		}
	}
	return tips
}

// Needs lists the scopes needed for a push from this clone: of each ref, and of each path
// changed by commits not known to be at a remote.
func Needs(ctx context.Context, repo *refs.Repo, edits []refs.Edit) ([]string, error) {
	var names []string
	for _, e := range edits {
		names = append(names, e.Ref)
	}
	paths, err := changed(ctx, repo, newTips(edits), atClient(edits)...)
	if err != nil {
		return nil, fmt.Errorf("look through a push: %w", err)
	}
	return obo.RequiredScopes(names, paths), nil
}
