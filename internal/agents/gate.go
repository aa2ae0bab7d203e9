package agents

import (
	"path/filepath"
	"slices"
	"strings"
)

// Scopes lists the authority that a tool call needs, as far as it can be told: a
// "repo.write:<path>" for each file below worktree that a file tool changes, and a
// "repo.push:<ref>" for each ref that a plain "git push REMOTE SRC:DST" moves.
//
// A path outside of worktree is the client's own business. Of shell commands only a
// push in its plain form and a patch that is handed to apply_patch are read: the
// pre-push hook and the hub's guard judge every push, this is an early word.
func (c *Call) Scopes(worktree string) []string {
	var scopes []string
	for _, p := range c.paths() {
		if rel := below(worktree, c.Dir, p); rel != "" {
			scopes = append(scopes, "repo.write:"+rel)
		}
	}
	for _, ref := range pushed(text(c.Args, "command", "cmd")) {
		scopes = append(scopes, "repo.push:"+ref)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// shells are the names under which clients run a command line.
var shells = []string{"bash", "shell", "run_shell_command", "local_shell", "exec_command", "powershell"}

// paths lists the files that a tool call changes.
func (c *Call) paths() []string {
	command := text(c.Args, "command", "cmd")
	if slices.Contains(shells, strings.ToLower(c.Tool)) {
		if !strings.Contains(command, "apply_patch") {
			return nil
		}
		return patched(command)
	}
	if reads(c.Tool) {
		return nil
	}
	var paths []string
	for _, member := range []string{"file_path", "filePath", "path", "notebook_path"} {
		if p := text(c.Args, member); p != "" {
			paths = append(paths, p)
		}
	}
	for _, member := range []string{"command", "input", "patch", "patchText"} {
		paths = append(paths, patched(text(c.Args, member))...)
	}
	return paths
}

// reads reports whether a tool is one that changes no file. Clients filter by name
// before they call; this is for those that call for every tool.
func reads(tool string) bool {
	t := strings.ToLower(tool)
	for _, w := range []string{"read", "view", "glob", "grep", "ls", "list", "search", "fetch"} {
		if t == w || strings.HasPrefix(t, w+"_") || strings.HasSuffix(t, "_"+w) {
			return true
		}
	}
	return false
}

// patched lists the files of a patch in the form of apply_patch.
func patched(patch string) []string {
	var paths []string
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if p, ok := strings.CutPrefix(line, mark); ok {
				paths = append(paths, strings.TrimSpace(p))
			}
		}
	}
	return paths
}

// below is path relative to worktree, with slashes; "" if it does not lie in it.
// Links are resolved as far as the path exists: a tool writes where they lead.
func below(worktree, dir, path string) string {
	if worktree == "" || path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(resolved(worktree), resolved(path))
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// resolved follows the links in the part of path that exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// pushed lists the refs that each plain "git push" of a command line moves.
func pushed(command string) []string {
	var refs []string
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		words := strings.Fields(part)
		if len(words) < 4 || words[0] != "git" {
			continue
		}
		words = words[1:]
		if len(words) > 2 && words[0] == "-C" {
			continue // another repository, or none that can be told
		}
		if words[0] != "push" {
			continue
		}
		refs = append(refs, destinations(words[1:])...)
	}
	return refs
}

// destinations reads the arguments of a push: nil where a shell would change one of
// them, or where git decides what is pushed.
func destinations(words []string) []string {
	var plain []string
	for _, w := range words {
		if strings.HasPrefix(w, "2>") || strings.HasPrefix(w, ">") {
			break
		}
		if strings.ContainsAny(w, "$`\"'\\*?()<>{}~[]!") {
			return nil
		}
		if !strings.HasPrefix(w, "-") {
			plain = append(plain, w)
		}
	}
	var refs []string
	for _, spec := range plain[min(1, len(plain)):] {
		src, dst, two := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !two {
			dst = src
		}
		if dst == "" || dst == "HEAD" {
			continue
		}
		if !strings.HasPrefix(dst, "refs/") {
			dst = "refs/heads/" + dst
		}
		refs = append(refs, dst)
	}
	return refs
}

// text is the first of the members that is a string.
func text(args map[string]any, members ...string) string {
	for _, m := range members {
		if s, ok := args[m].(string); ok {
			return s
		}
	}
	return ""
}
