package refs

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/gitexec"
)

// readHead reads HEAD of a plain repository from its file, which names the branch or the
// commit. If the file or the branch is not the usual one, readHead asks "git rev-parse". An
// unborn HEAD has no commit, and counts as no branch.
func readHead(ctx context.Context, r *Repo) error {
	if keepsRefsInTables(r) {
		if headInTables(r) {
			return nil
		}
		return askHead(ctx, r)
	}
	path := filepath.Join(r.GitDir, "HEAD")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return askHead(ctx, r)
	}
	if name, err := ReadFile(path, "ref: "); err == nil && strings.HasPrefix(name, branches) {
		if tip, ok := r.tipInFiles(name); ok {
			if r.Head = tip; tip != "" {
				r.Branch = strings.TrimPrefix(name, branches)
			}
			return nil
		}
	} else if oid, err := ReadFile(path, ""); err == nil && isTip(r, oid) {
		r.Head = oid
		return nil
	}
	return askHead(ctx, r)
}

const branches = "refs/heads/"

// HasHead reports whether a worktree has a ref beside HEAD, by which git remembers what it is doing,
// such as CHERRY_PICK_HEAD. MERGE_HEAD and FETCH_HEAD are no refs: git keeps them in files alone.
func HasHead(ctx context.Context, r *Repo, name string) bool {
	if keepsRefsInFiles(r) {
		return exists(filepath.Join(r.GitDir, name))
	}
	if keepsRefsInTables(r) {
		if ref, ok := ownInTables(r, name); ok {
			return ref.oid != "" || ref.target != ""
		}
	}
	oid, err := r.RevParse(ctx, name)
	return err == nil && oid != ""
}

// askHead asks "git rev-parse" for HEAD.
func askHead(ctx context.Context, r *Repo) error {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "HEAD", "--symbolic-full-name", "HEAD"}})
	if gitexec.Unexplained(err) { // a HEAD without a commit is named
		return notStarted(err)
	}
	if err == nil {
		takeHead(r, false, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
	}
	return ctx.Err()
}
