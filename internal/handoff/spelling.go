package handoff

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Short forms are checked by hand: compiling a regular expression for each at
// start-up would cost every command half a millisecond.

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	hexDigit = digits + "abcdef"
)

// IsHex reports whether s is exactly n lower-case hex digits.
func IsHex(s string, n int) bool { return len(s) == n && strings.Trim(s, hexDigit) == "" }

// spelled reports whether s has 1 to most characters, the first one of first and
// all others of rest.
func spelled(s, first, rest string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s[1:], rest) == ""
}

func isTokenID(s string) bool {
	rest, ok := strings.CutPrefix(s, "obo_")
	return ok && IsHex(rest, 32)
}

func isTokenPath(s string) bool {
	name, inside := strings.CutPrefix(s, "obo/")
	n, ok := strings.CutSuffix(name, ".json")
	return inside && ok && (n == "0" || spelled(n, digits[1:], digits, 2)) // how many may be, the chain says
}

// CheckRepoID says why s cannot be the id of a repository; nil if it can.
func CheckRepoID(s string) error {
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e }) || !isRepoID(s) {
		return fmt.Errorf("%q is not the id of a repository", s)
	}
	return nil
}

// isRepoID: whoever calls sees to it that it is one line.
func isRepoID(s string) bool {
	if remote, ok := strings.CutPrefix(s, "git+https://"); ok {
		host, path, _ := strings.Cut(remote, "/")
		return host != "" && path != ""
	}
	if hex, ok := strings.CutPrefix(s, "local:"); ok {
		return IsHex(hex, 32)
	}
	return strings.HasPrefix(s, "git+file:///")
}

// lazy compiles a pattern when it is first needed.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
