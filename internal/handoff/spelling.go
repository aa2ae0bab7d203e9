package handoff

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"githandoff/internal/fault"
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

// isObjectID reports whether s is a full object id of git: SHA-1 or SHA-256.
func isObjectID(s string) bool { return IsHex(s, 40) || IsHex(s, 64) }

// spelled reports whether s has 1 to most characters, the first one of first and
// all others of rest.
func spelled(s, first, rest string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s[1:], rest) == ""
}

// IsTokenID reports whether s is the name of a token: obo_ and 32 hex digits.
func IsTokenID(s string) bool {
	rest, ok := strings.CutPrefix(s, "obo_")
	return ok && IsHex(rest, 32)
}

func isTokenPath(s string) bool {
	name, inside := strings.CutPrefix(s, "obo/")
	n, ok := strings.CutSuffix(name, ".json")
	return inside && ok && (n == "0" || spelled(n, digits[1:], digits, 2)) // the caller compares the number with the chain
}

// IsKeyID reports whether s is the name of a key: openpgp: and 40 hex digits, or ssh:SHA256:
// and the unpadded base64 of 32 bytes. One key has one spelling: 43 characters hold 256 bits
// and two zeros.
func IsKeyID(s string) bool {
	if rest, ok := strings.CutPrefix(s, "openpgp:"); ok {
		return IsHex(rest, 40)
	}
	rest, ok := strings.CutPrefix(s, "ssh:SHA256:")
	sum, err := base64.RawStdEncoding.Strict().DecodeString(rest)
	return ok && err == nil && len(sum) == 32 && !strings.ContainsAny(rest, "\r\n")
}

// CheckRepoID says why s cannot be the id of a repository; nil if it can.
func CheckRepoID(s string) error {
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c > 0x7e }) || !IsRepoID(s) {
		return fmt.Errorf("%q is not the id of a repository", s)
	}
	return nil
}

// IsRepoID is like CheckRepoID for a text the caller checks to be one line.
func IsRepoID(s string) bool {
	if remote, ok := strings.CutPrefix(s, "git+https://"); ok {
		host, path, _ := strings.Cut(remote, "/")
		return host != "" && path != ""
	}
	if hex, ok := strings.CutPrefix(s, "local:"); ok {
		return IsHex(hex, 32)
	}
	return strings.HasPrefix(s, "git+file:///")
}

const timeLayout = "2006-01-02T15:04:05Z"

// FormatTime writes a time as every record has it: RFC 3339, UTC, whole
// seconds, a fraction cut off.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime reads the output of FormatTime and no other spelling.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	// time.Parse lets a fraction of a second pass where the layout has none.
	if err != nil || FormatTime(t) != s {
		return time.Time{}, fmt.Errorf("%+q is not a time of the form 2026-11-20T22:00:00Z", Clip(s, maxShown))
	}
	return t, nil
}

// CheckAlias says why s cannot be the short name of another repository; nil if it can. Every
// accepted name is also one git takes for a remote.
func CheckAlias(s string) error { return checkName("alias", s, lower+upper+digits, "A-Z a-z 0-9") }

// Principal returns the principal that a person names, who may leave out "user:".
func Principal(s string) string {
	if s == "" || strings.Contains(s, ":") {
		return s
	}
	return "user:" + s
}

// ParseTarget reads a target as people write it: "agent", "agent@alias", or "@alias", which is
// nobody yet (a nil agent) at that repository. An invalid target is refused with the code
// fault.Usage and the reason "invalid_target".
func ParseTarget(s string) (agent *string, alias string, err error) {
	name, alias, remote := strings.Cut(s, "@")
	if remote {
		err = CheckAlias(alias)
	}
	if name != "" || !remote {
		if bad := CheckAgent(name); bad != nil {
			err = bad
		}
		agent = &name
	}
	if err != nil {
		refusal := fault.New(fault.Usage, fault.InvalidTarget, "%w", err)
		if strings.ContainsAny(alias, "/:") {
			return nil, "", refusal.WithHints(fault.See("repo add").Because("gives that repository an alias for the target"))
		}
		return nil, "", refusal.
			WithHints(fault.Fact("a target looks like fixer, fixer@origin, or @origin if nobody is chosen yet"))
	}
	return agent, alias, nil
}

// TargetAt writes a target as [ParseTarget] reads it: an agent and, if its home is another repository, the alias of
// that.
func TargetAt(agent, alias string) string {
	if alias == "" {
		return agent
	}
	return strings.TrimPrefix(agent, Nobody) + "@" + alias
}

const maxPath = 4096 // bytes

var lineRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+):([1-9][0-9]{0,8})-([1-9][0-9]{0,8})$`)
})

// CheckPath says why s cannot be the path of a file inside a repository; nil if it can. It
// refuses what leads out of the work tree or into git's own directory on any system of a
// receiver: absolute paths, drive letters, backslashes, "..", and ".git" in every spelling a
// file system takes for it. It does not clean: "./a" and "a//b" are left to the reader.
func CheckPath(s string) error {
	switch {
	case s == "":
		return errors.New("empty path")
	case len(s) > maxPath:
		return errors.New("longer than " + commas(maxPath) + " bytes")
	case !utf8.ValidString(s):
		return errors.New("not valid UTF-8")
	case strings.HasPrefix(s, "/"), len(s) > 1 && s[1] == ':' && strings.IndexByte(lower+upper, s[0]) >= 0:
		return errors.New("not a relative path")
	case strings.Contains(s, `\`):
		return errors.New("must not contain a backslash")
	case strings.ContainsFunc(s, invisible):
		return errors.New("must not contain control or invisible characters")
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return errors.New(`must not contain ".."`)
		}
		if NamesGitDir(part) {
			return errors.New(`must not lead into ".git"`)
		}
	}
	return nil
}

// invisible covers the characters HFS+ leaves out when it compares names.
func invisible(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// NamesGitDir reports whether a file system may take one component of a path for ".git":
// NTFS drops trailing dots and spaces, takes the text after a colon for a stream's name and
// a backslash for a slash, and has the short name git~1 (is_ntfs_dotgit in git's path.c).
func NamesGitDir(part string) bool {
	part, _, _ = strings.Cut(part, ":")
	part, _, _ = strings.Cut(part, `\`)
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// checkRange checks an entry of FilesVerified: a path, or path:from-to with
// lines counted from 1.
func checkRange(s string) error {
	m := lineRange().FindStringSubmatch(s)
	if m == nil {
		return CheckPath(s)
	}
	from, _ := strconv.Atoi(m[2]) // cannot fail: at most nine digits
	to, _ := strconv.Atoi(m[3])
	if from > to {
		return errors.New("lines run backwards")
	}
	return CheckPath(m[1])
}
