package crossrepo

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"githandoff/internal/fault"
)

var defaultPort = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// RepoID derives the repo id of a URL. Relative paths are taken from base.
func RepoID(raw, base string) (string, error) {
	if raw == "" || raw[0] == '-' || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errBadURL(raw, "it is empty, begins with \"-\" or holds control characters")
	}
	if strings.Contains(raw, "::") && !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") {
		return "", errBadURL(raw, "remote helpers are not used")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case ok && scheme == "file":
		return FileID(decoded(rest)), nil // as git decodes it
	case ok:
		return hostID(raw, scheme)
	}
	// host:path, unless a slash comes before the colon: then it is a path.
	if colon := strings.IndexByte(raw, ':'); colon >= 0 && !strings.Contains(raw[:colon], "/") {
		host := raw[:colon]
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
		if strings.HasPrefix(host, "-") || host == "" {
			return "", errBadURL(raw, "no host")
		}
		// One spelling with ssh://host/path, in which git decodes the path.
		path := (&url.URL{Path: raw[colon+1:]}).EscapedPath()
		return "git+https://" + asciiHost(host) + "/" + tidy(path), nil
	}
	if !filepath.IsAbs(raw) {
		raw = filepath.Join(base, raw)
	}
	return FileID(raw), nil
}

func hostID(raw, scheme string) (string, error) {
	port, known := defaultPort[scheme]
	if !known {
		return "", errBadURL(raw, "its scheme is none of file, git, http, https, ssh")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
		return "", errBadURL(raw, "it has no host")
	}
	host := asciiHost(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != port {
		host += ":" + p
	}
	return "git+https://" + host + "/" + tidy(u.EscapedPath()), nil
}

// FileID is the repo id of the repository at an absolute path. A byte that is not
// printable ASCII is written as "%" and two hex digits, and so is a "%" before two hex
// digits, so that no two paths share an id.
func FileID(path string) string {
	path = strings.TrimSuffix(filepath.Clean("/"+path), "/.git")
	if path == "" {
		path = "/"
	}
	return fileScheme + encoded(path)
}

// fileScheme begins the id of a repository at a path.
const fileScheme = "git+file://"

// filePath is the path of the repository with an id that FileID made.
func filePath(repoID string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(repoID, fileScheme)
	return decoded(rest), ok
}

func encoded(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c < ' ' || c > '~' || c == '%' && i+2 < len(path) && isHexByte(path[i+1:i+3]) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// decoded undoes encoded. A "%" that no two hex digits follow stays.
func decoded(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && isHexByte(path[i+1:i+3]) {
			n, _ := strconv.ParseUint(path[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		} else {
			b.WriteByte(path[i])
		}
	}
	return b.String()
}

func isHexByte(s string) bool {
	_, err := strconv.ParseUint(s, 16, 8)
	return err == nil
}

// asciiHost is a host name in lower case. A name that is not ASCII is written by its
// bytes, like a path: nothing here asks the DNS.
func asciiHost(host string) string { return encoded(strings.ToLower(host)) }

func tidy(path string) string {
	return strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

func errBadURL(raw, why string) error {
	return fault.New(fault.Usage, fault.BadURL, "%s cannot be a repository: %s", Quote(raw), why).
		WithHints(fault.Fact("a repository is a path, or a URL of scheme file, git, http, https or ssh"))
}
