package gitconfig

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// KeepOut is the refspec to keep "git fetch --prune" off our refs. It does nothing if nothing is
// fetched into refs/handoffs, and go-git and libgit2 cannot open a repository with one. So a
// remote has it only if it needs it.
const KeepOut = "^refs/handoffs/*"

// keepOutOf returns the refspec to keep the refs of handoffs below a prefix out of the ordinary
// copies of a remote: such a copy would keep a payload after its end.
func keepOutOf(prefix string) string { return "^" + prefix + "/*" }

// reaches reports whether a fetch refspec writes into refs/handoffs, as a mirror's does.
func reaches(spec string) bool {
	spec = strings.TrimPrefix(spec, "+")
	_, dst, ok := strings.Cut(spec, ":")
	if !ok || strings.HasPrefix(spec, "^") {
		return false
	}
	return covers(dst, refs.Root)
}

// reads reports whether a fetch refspec fetches refs below a prefix of the remote.
func reads(spec, prefix string) bool {
	src, _, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	return ok && !strings.HasPrefix(spec, "^") && covers(src, prefix+"/")
}

// covers reports whether one side of a refspec names refs below a directory.
func covers(side, dir string) bool {
	prefix, _, pattern := strings.Cut(side, "*")
	return strings.HasPrefix(prefix, dir) || pattern && strings.HasPrefix(dir, prefix)
}

// KeepOuts returns a remote's missing refspecs to keep our refs out of an ordinary fetch, and its
// unneeded ones.
func (s Settings) KeepOuts(remote string) (missing, spare []string) {
	specs := s.repo.Config["remote."+remote+".fetch"]
	var needed []string
	if slices.ContainsFunc(specs, reaches) {
		needed = append(needed, KeepOut)
	}
	if prefix := s.repo.Config.Get(AliasPrefix(remote)); prefix != "" &&
		slices.ContainsFunc(specs, func(spec string) bool { return reads(spec, prefix) }) {
		needed = append(needed, keepOutOf(prefix))
	}
	for _, spec := range needed {
		if !slices.Contains(specs, spec) {
			missing = append(missing, spec)
		}
	}
	if slices.Contains(specs, KeepOut) && !slices.Contains(needed, KeepOut) {
		spare = append(spare, KeepOut)
	}
	return missing, spare
}

// CopiesHandoffs returns the problem of each missing refspec of a remote, with the command that adds it.
func (s Settings) CopiesHandoffs(remote string) (problems []*fault.Error) {
	key := "remote." + remote + ".fetch"
	missing, _ := s.KeepOuts(remote)
	for _, spec := range missing {
		why := "git fetch --prune may delete handoffs: %s reaches refs/handoffs"
		if spec != KeepOut {
			why = "an ordinary git fetch copies handoffs, and keeps them after their end: %s covers their prefix at the hub"
		}
		problems = append(problems, fault.New(fault.Other, fault.Problem, why, key).
			WithHints(fault.Run("git", "config", "--add", key, spec).Because("keeps them out of it")))
	}
	return problems
}

// SetKeepOuts adds a remote's missing refspecs, and removes its unneeded ones.
func (s Settings) SetKeepOuts(ctx context.Context, remote string) error {
	key := "remote." + remote + ".fetch"
	missing, spare := s.KeepOuts(remote)
	for _, spec := range missing {
		if err := s.Add(ctx, key, spec); err != nil {
			return err
		}
	}
	for _, spec := range spare {
		if err := s.Drop(ctx, key, spec); err != nil {
			return err
		}
	}
	return nil
}

// DropKeepOut removes the refspec of a remote's former prefix.
func (s Settings) DropKeepOut(ctx context.Context, remote, prefix string) error {
	return s.Drop(ctx, "remote."+remote+".fetch", keepOutOf(prefix))
}

// Fetched returns the prefixes, in this repository, of the ordinary copies of refs below a
// prefix of a remote.
func (s Settings) Fetched(remote, prefix string) []string {
	var copies []string
	for _, spec := range s.repo.Config["remote."+remote+".fetch"] {
		src, dst, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		from, after, pattern := strings.Cut(src, "*")
		rest, below := strings.CutPrefix(prefix+"/", from)
		if !pattern || after != "" || !below || !reads(spec, prefix) || reaches(spec) {
			continue
		}
		if to, tail, ok := strings.Cut(dst, "*"); ok && tail == "" {
			copies = append(copies, to+rest)
		}
	}
	return copies
}
