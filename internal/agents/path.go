package agents

import (
	"net/url"
	"os/user"
	"path/filepath"
	"strings"
)

// file returns the path in s. If s looks like a URI, a tool may still take it as a path. A ".." in
// it then leads elsewhere, so both places count.
func file(s string, onlyURI bool) []string {
	u, err := url.Parse(strings.TrimSpace(s))
	scheme, rest, _ := strings.Cut(strings.TrimSpace(s), ":")
	switch {
	case s == "" || onlyURI && err == nil && u.Scheme != "file" && u.Scheme != "":
		return nil
	case err != nil && strings.EqualFold(scheme, "file"):
		return []string{s, strings.TrimPrefix(rest, "//"), strings.TrimLeft(rest, "/")}
	case err != nil || u.Scheme != "file":
		return []string{s}
	case u.Path == "":
		return []string{s, u.Opaque}
	}
	paths := []string{u.Path}
	if strings.Contains(s, "..") {
		paths = append(paths, s)
	}
	for _, p := range []string{u.Host + u.Path, strings.TrimPrefix(u.Path, "/")} {
		if isAnchored(p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// isAnchored reports whether a shell would put a directory in place of the beginning of a path.
func isAnchored(p string) bool { return strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$") }

// expanded lists the readings of a path: as it stands, without blanks around it, up to a NUL, and
// with the directory that a shell puts in place of its beginning. Tools differ.
func (c *Call) expanded(p string) []string {
	all := []string{p}
	if short, _, _ := strings.Cut(p, "\x00"); short != p {
		all = append(all, short)
	}
	if short := strings.TrimSpace(p); short != p {
		p, all = short, append(all, short)
	}
	if !isAnchored(p) {
		return all
	}
	begin, rest, _ := strings.Cut(p, "/")
	for _, dir := range c.anchors(begin) {
		if filepath.IsAbs(dir) {
			all = append(all, dir+"/"+rest)
		}
	}
	return all
}

// anchors lists the directories for which "~", "~user", "$VAR" or "${VAR}" may stand.
func (c *Call) anchors(begin string) []string {
	if name, ok := strings.CutPrefix(begin, "$"); ok {
		if inner, ok := strings.CutPrefix(name, "{"); ok {
			name = strings.TrimSuffix(inner, "}")
		}
		return []string{c.getenv(name)}
	}
	var dirs []string
	name, own := begin[1:], c.getenv("HOME")
	if name == "" || name == c.getenv("USER") || name == c.getenv("LOGNAME") {
		dirs = append(dirs, own)
	}
	if name == "" {
		if u, err := user.Current(); err == nil {
			dirs = append(dirs, u.HomeDir)
		}
	} else if u, err := user.Lookup(name); err == nil {
		dirs = append(dirs, u.HomeDir)
	}
	return dirs
}
