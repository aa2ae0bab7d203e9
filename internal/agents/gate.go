package agents

import (
	"maps"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Scopes lists the authority a tool call needs, as far as it shows: a "repo.write:<path>" for
// each file below worktree changed by a file tool, and a "repo.push:<ref>" for each ref moved
// by a plain "git push REMOTE SRC:DST". A call that could not be read needs a "repo.write" of
// everything.
//
// A path outside of worktree is the client's own business. The only shell commands read are a
// plain push and a patch handed to apply_patch: the pre-push hook and the hub's guard judge
// every push, this is an early word.
func (c *Call) Scopes(worktree string) []string {
	if c.Unread {
		return []string{"repo.write"}
	}
	var scopes []string
	for _, file := range c.Files() {
		if rel := below(worktree, file); rel != "" {
			scopes = append(scopes, "repo.write:"+rel)
		}
	}
	for _, ref := range pushed(text(c.Args, "command", "cmd")) {
		scopes = append(scopes, "repo.push:"+ref)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// Files lists the files changed by a tool call, absolute and with their links followed. Some tools
// take ".." out of a path before they open it, others leave that to the kernel, which follows a
// link first: both files count.
func (c *Call) Files() []string {
	var files []string
	dir := c.Dir
	if to := text(c.Args, "workdir", "working_directory", "cwd"); filepath.IsAbs(to) {
		dir = to
	} else if to != "" {
		dir += "/" + to
	}
	paths := c.paths()
	for _, p := range paths {
		if at := atHome(p); at != "" {
			paths = append(paths, at)
		}
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = dir + "/" + p
		}
		files = append(files, resolved(filepath.Clean(p)))
		if at := resolved(p); at != files[len(files)-1] {
			files = append(files, at)
		}
	}
	return files
}

// atHome is a path below a home directory, as a shell and some tools spell one: ~/x, ~name/x,
// $HOME/x and ${HOME}/x. It is empty for any other path.
func atHome(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	name, tilde := strings.CutPrefix(first, "~")
	switch {
	case first == "~", first == "$HOME", first == "${HOME}":
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	case tilde:
		if u, err := user.Lookup(name); err == nil {
			return filepath.Join(u.HomeDir, rest)
		}
	}
	return ""
}

// Writing is the part of a tool call changing these files.
func (c *Call) Writing(files []string) *Call {
	part := *c
	list := make([]any, 0, len(files))
	for _, f := range files {
		list = append(list, f)
	}
	part.Tool, part.Args = "write", map[string]any{"paths": list}
	return &part
}

// shells are the clients' tools for command lines.
var shells = []string{"bash", "shell", "run_shell_command", "local_shell", "exec_command", "powershell"}

// paths lists the files changed by a tool call.
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
	paths := pathsIn(c.Args)
	for _, member := range []string{"command", "input", "patch", "patchText"} {
		paths = append(paths, patched(text(c.Args, member))...)
	}
	return paths
}

// pathMembers are the arguments naming the files for a tool to change.
var pathMembers = []string{
	"file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "paths",
	"destination", "old_path", "new_path", "uri",
}

// pathsIn lists the files named by a tool's arguments, those of single edits included.
func pathsIn(args any) []string {
	var paths []string
	switch v := args.(type) {
	case []any:
		for _, one := range v {
			if _, text := one.(string); !text {
				paths = append(paths, pathsIn(one)...)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			moved := name == "source" && v["destination"] != nil
			if moved || slices.Contains(pathMembers, name) {
				paths = append(paths, files(v[name], name == "uri")...)
			}
			paths = append(paths, pathsIn(v[name])...)
		}
	}
	return paths
}

// files is a path, or a list of them. One may be written as a URI.
func files(v any, onlyURI bool) []string {
	var paths []string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				paths = append(paths, files(s, onlyURI)...)
			}
		}
	case string:
		return file(v, onlyURI)
	}
	return paths
}

// file is the path in s. A tool may take what looks like a URI as a path nevertheless: then a ".." in
// it leads elsewhere, and both places count.
func file(s string, onlyURI bool) []string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "file":
		if s == "" || onlyURI {
			return nil
		}
		return []string{s}
	case u.Path == "":
		return []string{s, u.Opaque}
	case strings.Contains(s, ".."):
		return []string{u.Path, s}
	case u.Host != "" && u.Host != "localhost":
		return []string{u.Path, u.Host + u.Path} // file://~/x
	}
	return []string{u.Path}
}

// reads reports whether a tool changes no file. Some clients filter by name before they call;
// others call for every tool.
func reads(tool string) bool {
	t := strings.ToLower(tool)
	if i := strings.LastIndex(t, "__"); i >= 0 {
		t = t[i+len("__"):] // without the name of its server
	}
	for _, w := range []string{"write", "edit", "replace", "create", "delete", "remove", "move", "rename", "update", "patch"} {
		if strings.Contains(t, w) {
			return false
		}
	}
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
		line = strings.TrimSpace(line)
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if p, ok := strings.CutPrefix(line, mark); ok {
				paths = append(paths, strings.TrimSpace(p))
			}
		}
	}
	return paths
}

// below is a file relative to worktree, with slashes; "" if it does not lie in it.
func below(worktree, file string) string {
	if worktree == "" {
		return ""
	}
	rel, err := filepath.Rel(resolved(worktree), file)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// resolved is the file reached by the kernel through a path: it follows each link before it takes
// the next "..". A missing part stays: a tool makes it.
func resolved(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.Clean(path) // of a client that does not say where it works
	}
	at, links := "/", maxLinks
	for rest := strings.Split(path, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if name == "" || err != nil || links == 0 {
			at = next
			continue
		}
		if links--; filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at
}

const maxLinks = 40 // Linux follows as many, and opens no file behind more

// pushed lists the refs moved by each plain "git push" of a command line.
func pushed(command string) []string {
	var refs []string
	for _, part := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
		words := strings.Fields(part)
		for len(words) > 0 && assignment().MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) < 4 || words[0] != "git" {
			continue
		}
		words = words[1:]
		for len(words) > 2 && words[0] == "-c" {
			words = words[2:]
		}
		if words[0] != "push" { // after -C it is another repository, or an unknown one
			continue
		}
		refs = append(refs, destinations(words[1:])...)
	}
	return refs
}

// assignment is a variable in front of a command.
var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`) })

// withValue are the options of git push whose value is the next word.
var withValue = []string{"-o", "--push-option", "--receive-pack", "--exec"}

// destinations reads the arguments of a push: nil where a shell would change one of
// them, or where git decides what is pushed.
func destinations(words []string) []string {
	var plain []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w, "2>") || strings.HasPrefix(w, ">") {
			break
		}
		if strings.ContainsAny(w, "$`\"'\\*?()<>{}~[]!") {
			return nil
		}
		switch {
		case slices.Contains(withValue, w):
			i++
		case !strings.HasPrefix(w, "-"):
			plain = append(plain, w)
		}
	}
	var refs []string
	below := "refs/heads/"
	for _, spec := range plain[min(1, len(plain)):] {
		if spec == "tag" { // the name of one follows
			below = "refs/tags/"
			continue
		}
		src, dst, two := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !two {
			dst = src
		}
		if dst != "" && dst != "HEAD" {
			if !strings.HasPrefix(dst, "refs/") {
				dst = below + dst
			}
			refs = append(refs, dst)
		}
		below = "refs/heads/"
	}
	return refs
}

// text is the first string among the members, or the words of a command.
func text(args map[string]any, members ...string) string {
	for _, m := range members {
		switch v := args[m].(type) {
		case string:
			return v
		case []any:
			return commandLine(v)
		}
	}
	return ""
}

// commandLine writes the words of a command. One with a blank in it is a script or a patch,
// and stands alone.
func commandLine(words []any) string {
	var line strings.Builder
	for _, w := range words {
		s, _ := w.(string)
		if strings.ContainsAny(s, " \n") {
			s = "\n" + s + "\n"
		}
		line.WriteString(s + " ")
	}
	return line.String()
}
