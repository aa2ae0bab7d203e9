package agents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Scopes lists the authority a tool call needs, as far as it shows: a "repo.write:<path>" for
// each file below worktree changed by a file tool, and a "repo.push:<ref>" for each ref moved
// by a plain "git push REMOTE SRC:DST".
//
// A path outside of worktree is the client's own business. The only shell commands read are a
// plain push and a patch handed to apply_patch: the pre-push hook and the hub's guard judge
// every push, this is an early word.
func (c *Call) Scopes(worktree string) []string {
	var scopes []string
	for _, file := range c.Files() {
		if rel := below(worktree, file); rel != "" {
			scopes = append(scopes, "repo.write:"+rel)
		}
	}
	for _, ref := range c.refs {
		scopes = append(scopes, "repo.push:"+ref)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// Files lists the files changed by a tool call, absolute and with their links followed. Some tools
// take ".." out of a path before they open it, others leave that to the kernel, which follows a
// link first: both files count.
func (c *Call) Files() []string {
	if c.files != nil || c.Unread != nil {
		return c.files
	}
	found := []string{}
	add := func(p string) {
		found = append(found, resolved(filepath.Clean(p)))
		if at := resolved(p); at != found[len(found)-1] {
			found = append(found, at)
		}
	}
	dirs := c.dirs()
	for _, p := range c.spelt {
		if filepath.IsAbs(p) {
			add(p)
			continue
		}
		for _, dir := range dirs {
			add(dir + "/" + p)
		}
	}
	c.files = found
	return found
}

// dirs lists the directories to which the paths of a tool call may be relative. A shell obeys a
// working directory in its call; another tool may ignore such a member.
func (c *Call) dirs() []string {
	var dirs []string
	for _, to := range c.texts(workdirs...) {
		for _, at := range c.expanded(to) {
			if !filepath.IsAbs(at) {
				at = c.Dir + "/" + at
			}
			dirs = append(dirs, at)
		}
	}
	if len(dirs) != 1 || !isShell(c.Tool) {
		dirs = append(dirs, c.Dir)
	}
	return dirs
}

// workdirs are the arguments naming the directory for a tool to work in.
var workdirs = []string{"workdir", "workingdirectory", "cwd"}

// The limits of a call. A hook has no time to follow the links of more targets, and no kernel opens
// a longer path.
const (
	maxTargets = 500 // files, each once for every possible directory, and refs
	maxPaths   = 64 << 10
	maxPath    = 4096
)

// bounded returns an error for a call beyond the limits.
func (c *Call) bounded() error {
	paths := append(c.texts(workdirs...), c.spelt...)
	size := 0
	for _, p := range paths {
		if size += len(p); len(p) > maxPath || size > maxPaths {
			return errors.New("its paths are too long")
		}
	}
	if dirs := len(paths) - len(c.spelt) + 1; dirs*len(c.spelt)+len(c.refs) > maxTargets {
		return fmt.Errorf("it changes more than %d files and refs", maxTargets)
	}
	return nil
}

// Writing returns the part of a tool call changing these files.
func (c *Call) Writing(files []string) *Call {
	part := *c
	part.Tool, part.args, part.refs, part.files = "write", nil, nil, files
	return &part
}

// isShell reports whether a tool is one for command lines.
func isShell(tool string) bool {
	return slices.Contains([]string{
		"bash", "shell", "run_shell_command", "local_shell", "exec_command", "powershell",
	}, strings.ToLower(tool))
}

// paths lists the files changed by a tool call, in every spelling.
func (c *Call) paths() []string {
	var paths []string
	switch {
	case isShell(c.Tool):
		for _, command := range c.texts("command", "cmd") {
			if strings.Contains(command, "apply_patch") {
				paths = append(paths, patched(command)...)
			}
		}
	case reads(c.Tool):
		return nil
	default:
		c.walk(func(o members) { paths = append(paths, pathsIn(o)...) })
		for _, text := range c.texts("command", "input", "patch", "patchtext") {
			paths = append(paths, patched(text)...)
		}
	}
	var all []string
	for _, p := range paths {
		all = append(all, c.expanded(p)...)
	}
	return all
}

// walk visits the objects of a tool's arguments.
func (c *Call) walk(visit func(members)) {
	for _, v := range c.args {
		walk(v, true, visit)
	}
}

// wrappers are the arguments that may contain other arguments, even as a string.
var wrappers = []string{
	"input", "arguments", "args", "params", "parameters", "toolinput", "toolargs", "edits", "files", "changes", "operations",
}

// walk visits the objects in v, and v itself if it is an object. If open is set, a string with JSON
// is decoded; that is for arguments, not for a text to be written.
func walk(v any, open bool, visit func(members)) {
	switch v := v.(type) {
	case members:
		visit(v)
		for _, m := range v {
			walk(m.value, hasName(m.name, wrappers...) || hasName(m.name, pathMembers...), visit)
		}
	case []any:
		for _, one := range v {
			walk(one, open, visit)
		}
	case string:
		if in, ok := written(v); ok && open {
			walk(in, false, visit)
		}
	}
}

// pathMembers are the arguments naming the files for a tool to change.
var pathMembers = []string{
	"filepath", "path", "notebookpath", "absolutepath", "targetfile", "paths",
	"destination", "oldpath", "newpath", "uri",
}

// pathsIn lists the files named by the members of one object.
func pathsIn(o members) []string {
	moves := slices.ContainsFunc(o, func(m member) bool { return hasName(m.name, "destination") && m.value != nil })
	var paths []string
	for _, m := range o {
		if hasName(m.name, pathMembers...) || moves && hasName(m.name, "source") {
			paths = append(paths, files(m.value, hasName(m.name, "uri"))...)
		}
	}
	return paths
}

// files returns a path, or a list of them. A path may be written as a URI, and either may be JSON
// in a string.
func files(v any, onlyURI bool) []string {
	var paths []string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			paths = append(paths, files(one, onlyURI)...)
		}
	case string:
		if in, ok := written(v); ok {
			paths = files(in, onlyURI)
		}
		paths = append(paths, file(v, onlyURI)...)
	}
	return paths
}

// reads reports whether a tool changes no file. Some clients filter by name before they call;
// others call for every tool.
func reads(tool string) bool {
	t := strings.ToLower(tool)
	if i := strings.LastIndex(t, "__"); i >= 0 {
		t = t[i+len("__"):] // drop the name of the MCP server
	}
	for _, w := range []string{"write", "edit", "replace", "create", "delete", "remove", "move", "rename", "update", "patch"} {
		if strings.Contains(t, w) {
			return false
		}
	}
	return slices.ContainsFunc([]string{"read", "view", "glob", "grep", "ls", "list", "search", "fetch"}, func(w string) bool {
		return t == w || strings.HasPrefix(t, w+"_") || strings.HasSuffix(t, "_"+w)
	})
}

// patched lists the files of a patch in the form of apply_patch.
func patched(patch string) []string {
	var paths []string
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, begin := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if p, ok := strings.CutPrefix(line, begin); ok {
				paths = append(paths, strings.TrimSpace(p))
			}
		}
	}
	return paths
}

// below returns a file relative to worktree, with slashes; "" if the file is not in the worktree.
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

// resolved returns the file that the kernel reaches through a path: it follows each link before it
// takes the next "..". A missing part stays in the path, because a tool may create it.
func resolved(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.Clean(path) // the client did not say where it works
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

const maxLinks = 40 // Linux follows 40 links in a path, and fails at the next one

// pushes lists the refs moved by the commands of a call, up to the limit and a few more.
func (c *Call) pushes() []string {
	var refs []string
	for _, command := range c.texts("command", "cmd") {
		for part := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(";&|\n", r) }) {
			if refs = append(refs, pushed(part)...); len(refs) > maxTargets {
				return refs
			}
		}
	}
	return refs
}

// pushed lists the refs moved by a plain "git push".
func pushed(command string) []string {
	if !strings.Contains(command, "push") {
		return nil
	}
	words := strings.Fields(command)
	for len(words) > 0 && assignment().MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) < 4 || words[0] != "git" {
		return nil
	}
	words = words[1:]
	for len(words) > 2 && words[0] == "-c" {
		words = words[2:]
	}
	if words[0] != "push" { // another command, or -C, which may lead to another repository
		return nil
	}
	return destinations(words[1:])
}

// assignment is a variable in front of a command.
var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`) })

// withValue are the options of git push whose value is the next word.
var withValue = []string{"-o", "--push-option", "--receive-pack", "--exec"}

// destinations reads the arguments of a push. It returns nil if a shell would change one of them,
// or if git decides what is pushed.
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
	prefix := "refs/heads/"
	for _, spec := range plain[min(1, len(plain)):] {
		if spec == "tag" { // the next word is the name of a tag
			prefix = "refs/tags/"
			continue
		}
		src, dst, two := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !two {
			dst = src
		}
		if dst != "" && dst != "HEAD" {
			if !strings.HasPrefix(dst, "refs/") {
				dst = prefix + dst
			}
			refs = append(refs, dst)
		}
		prefix = "refs/heads/"
	}
	return refs
}

// texts lists the strings among the arguments with these names, and the words of a command.
func (c *Call) texts(names ...string) []string {
	var texts []string
	c.walk(func(o members) {
		for _, m := range o {
			if !hasName(m.name, names...) {
				continue
			}
			switch v := m.value.(type) {
			case string:
				texts = append(texts, v)
			case []any:
				texts = append(texts, commandLine(v))
			}
		}
	})
	return texts
}

// commandLine joins the words of a command. A word with a blank in it is a script or a patch, and
// gets a line of its own.
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
