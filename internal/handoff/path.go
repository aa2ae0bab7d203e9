package handoff

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxPath = 4096 // bytes

var lineRange = lazy(`^(.+):([1-9][0-9]{0,8})-([1-9][0-9]{0,8})$`)

// CheckPath says why s cannot be the path of a file inside a repository; nil if
// it can. It refuses what leads out of the work tree or into git's own
// directory on any system that the receiver may have: absolute paths, drive
// letters, backslashes, "..", and ".git" in every spelling that a file system
// takes for it. It does not clean: "./a" and "a//b" are left to the reader.
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
		if namesGitDir(part) {
			return errors.New(`must not lead into ".git"`)
		}
	}
	return nil
}

// invisible covers all that HFS+ leaves out when it compares names.
func invisible(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// namesGitDir reports whether a file system may take one component of a path for ".git":
// NTFS drops trailing dots and spaces, takes the text after a colon for a stream's name,
// and has the short name git~1.
func namesGitDir(part string) bool {
	part, _, _ = strings.Cut(part, ":")
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
	from, _ := strconv.Atoi(m[2]) // nine digits always fit
	to, _ := strconv.Atoi(m[3])
	if from > to {
		return errors.New("lines run backwards")
	}
	return CheckPath(m[1])
}
