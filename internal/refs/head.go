package refs

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
)

// readHead reads HEAD of a plain repository: its file names the branch, and the process for all
// reads says which commit the branch leads to. If the file or the answer is not the usual one,
// readHead asks "git rev-parse".
func readHead(ctx context.Context, r *Repo) error {
	if name := headOf(r); name != "" {
		o, err := r.reader.read(name, 1<<20)
		if err == nil && o != nil && o.Type == "commit" {
			r.Head = o.OID
			if branch, ok := strings.CutPrefix(name, branches); ok {
				r.Branch = branch
			}
			return nil
		}
	}
	return askHead(ctx, r)
}

const branches = "refs/heads/"

// headOf returns what the file HEAD says: the full name of a branch, or the id of a commit. It
// returns "" if the file has another form, or if the branch is a name of another ref.
func headOf(r *Repo) string {
	path := filepath.Join(r.GitDir, "HEAD")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || r.Config.Get("extensions.refstorage") != "" {
		return ""
	}
	if name, ok := pointer(path, "ref: "); ok {
		_, alias := pointer(filepath.Join(r.CommonDir, filepath.FromSlash(name)), "ref:")
		if alias || !strings.HasPrefix(name, branches) || strings.ContainsAny(name, " \t\r\n^~:") || strings.Contains(name, "@{") {
			return ""
		}
		return name
	}
	oid, _ := pointer(path, "")
	if !handoff.IsHex(oid, 40) {
		return ""
	}
	return oid
}

// askHead asks "git rev-parse" for HEAD. An unborn one has no commit, and counts as no branch.
func askHead(ctx context.Context, r *Repo) error {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "HEAD", "--symbolic-full-name", "HEAD"}})
	if err == nil {
		takeHead(r, false, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
	}
	return ctx.Err()
}
