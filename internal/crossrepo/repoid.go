package crossrepo

import (
	"net/url"
	"path/filepath"
	"strings"

	"githandoff/internal/fault"
)

var defaultPort = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// RepoID derives the repo id of a URL. Relative paths are taken from base.
func RepoID(raw, base string) (string, error) {
	if raw == "" || raw[0] == '-' || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", badURL(raw, "it is empty, begins with \"-\" or holds control characters")
	}
	if strings.Contains(raw, "::") && !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") {
		return "", badURL(raw, "remote helpers are not used")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case ok && scheme == "file":
		return fileID(rest), nil
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
			return "", badURL(raw, "no host")
		}
		return "git+https://" + strings.ToLower(host) + "/" + tidy(raw[colon+1:]), nil
	}
	if !filepath.IsAbs(raw) {
		raw = filepath.Join(base, raw)
	}
	return fileID(raw), nil
}

func hostID(raw, scheme string) (string, error) {
	port, known := defaultPort[scheme]
	if !known {
		return "", badURL(raw, "its scheme is none of file, git, http, https, ssh")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
		return "", badURL(raw, "it has no host")
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != port {
		host += ":" + p
	}
	return "git+https://" + host + "/" + tidy(u.EscapedPath()), nil
}

func fileID(path string) string {
	path = strings.TrimSuffix(filepath.Clean("/"+path), "/.git")
	if path == "" {
		path = "/"
	}
	return "git+file://" + path
}

func tidy(path string) string {
	return strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

func badURL(raw, why string) error {
	return fault.New(fault.Usage, fault.BadURL, "%s cannot be a repository: %s", Quote(raw), why).
		WithHints(fault.Fact("a repository is a path, or a URL of scheme file, git, http, https or ssh"))
}
