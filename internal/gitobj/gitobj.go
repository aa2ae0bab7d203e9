// Package gitobj reads and writes the bytes of git's tree objects. It also names objects, renders
// unsigned commits and reads the headers of commits.
//
// A signature or an object id covers bytes, so only a tree in the one form that git writes is
// accepted: with these modes, in git's order, and no name twice. go-git v5 has one length of object
// ids for a whole program; this package knows both.
package gitobj

import (
	"bytes"
	"cmp"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	githash "github.com/go-git/go-git/v5/plumbing/hash"
)

// Format says how a repository names its objects. It is git's own name for it
// (extensions.objectFormat).
type Format string

// The formats of git. All repositories that one handoff goes through have the same one: git
// transfers nothing between two formats.
const (
	SHA1   Format = "sha1"
	SHA256 Format = "sha256" // default of new repositories from git 3.0 on
)

// FormatOf returns the format of an object id by its length.
func FormatOf(oid string) Format {
	if len(oid) == SHA256.Digits() {
		return SHA256
	}
	return SHA1
}

func (f Format) function() crypto.Hash {
	if f == SHA256 {
		return crypto.SHA256
	}
	return crypto.SHA1
}

// Digits returns how many hex digits an object id has.
func (f Format) Digits() int { return 2 * f.function().Size() }

// Zero returns the id of zeros, by which git says that there is no object.
func (f Format) Zero() string { return strings.Repeat("0", f.Digits()) }

// EmptyTree returns the id of the tree without entries.
func (f Format) EmptyTree() string {
	if f == SHA256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// IsEmptyTree reports whether an id is that of the tree without entries, in either format.
func IsEmptyTree(oid string) bool { return oid == FormatOf(oid).EmptyTree() }

// SignatureHeader returns the name of the header with the signature of a commit.
func (f Format) SignatureHeader() string {
	if f == SHA256 {
		return "gpgsig-sha256"
	}
	return "gpgsig"
}

// Hash returns the id of an object.
func (f Format) Hash(kind string, body []byte) string {
	h := f.Hasher(kind, int64(len(body)))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Hasher returns what computes the id of an object whose body, of size bytes, is still to be
// written to it. As in git, the SHA-1 of a body made to collide with another is a different one.
func (f Format) Hasher(kind string, size int64) hash.Hash {
	h := githash.New(f.function())
	fmt.Fprintf(h, "%s %d\x00", kind, size)
	return h
}

// Sum returns the checksum of some bytes.
func (f Format) Sum(b []byte) []byte {
	h := githash.New(f.function())
	h.Write(b)
	return h.Sum(nil)
}

// IsID reports whether s is a full object id of either format, in lower-case hex digits.
func IsID(s string) bool {
	return (len(s) == SHA1.Digits() || len(s) == SHA256.Digits()) && strings.Trim(s, "0123456789abcdef") == ""
}

// ID returns an object id as git prints it; "" for the id of zeros, which names no object.
func ID(oid string) string {
	if strings.Trim(oid, "0") == "" {
		return ""
	}
	return oid
}

// The modes written by git into a tree.
const (
	Dir     = "40000"
	File    = "100644"
	Exec    = "100755"
	Symlink = "120000"
	Gitlink = "160000" // commit of another repository; the object may be missing
)

// TreeEntry is one line of a tree.
type TreeEntry struct {
	Mode string // one of the constants
	Name string // not empty, without "/" and NUL
	OID  string // object id in hex, in the repository's format
}

// ParseTree reads the body of a tree in a repository of this format. It accepts only trees
// reproduced byte for byte by EncodeTree: the entries are in git's order and no name occurs twice.
func (f Format) ParseTree(body []byte) ([]TreeEntry, error) {
	return f.parseTree(body, func(mode string) string { return mode })
}

// ParseOldTree is like ParseTree for a tree of an old program. Each file has the mode that git reads
// it as: 644 or 755 (read-cache.h, canon_mode). Old programs wrote others, as 664.
func (f Format) ParseOldTree(body []byte) ([]TreeEntry, error) { return f.parseTree(body, canonical) }

func (f Format) parseTree(body []byte, mode func(string) string) ([]TreeEntry, error) {
	var entries []TreeEntry
	size := f.Digits() / 2
	for rest := body; len(rest) > 0; {
		head, after, ok := bytes.Cut(rest, []byte{0})
		written, name, named := strings.Cut(string(head), " ")
		if !ok || !named || len(after) < size {
			return nil, errors.New("parse tree: an entry is cut short")
		}
		entries = append(entries, TreeEntry{mode(written), name, hex.EncodeToString(after[:size])})
		rest = after[size:]
	}
	if err := checkEntries(entries); err != nil {
		return nil, fmt.Errorf("parse tree: %w", err)
	}
	if !slices.IsSortedFunc(entries, inGitsOrder) {
		return nil, errors.New("parse tree: git would write it in another order")
	}
	return entries, nil
}

func canonical(mode string) string {
	n, err := strconv.ParseUint(mode, 8, 32)
	switch {
	case err != nil:
	case n&0o170000 == 0o100000 && n&0o100 != 0:
		return Exec
	case n&0o170000 == 0o100000:
		return File
	case n&0o170000 == 0o040000:
		return Dir
	}
	return mode
}

// EncodeTree renders entries, given in any order, as the body of a tree.
func EncodeTree(entries []TreeEntry) ([]byte, error) {
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	var body []byte
	for _, e := range slices.SortedFunc(slices.Values(entries), inGitsOrder) {
		body = fmt.Appendf(body, "%s %s\x00", e.Mode, e.Name)
		body, _ = hex.AppendDecode(body, []byte(e.OID)) // cannot fail: IsID was checked
	}
	return body, nil
}

// checkEntries refuses entries that git does not write into one tree.
func checkEntries(entries []TreeEntry) error {
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		switch {
		case !slices.Contains([]string{Dir, File, Exec, Symlink, Gitlink}, e.Mode):
			return fmt.Errorf("%q has mode %q", e.Name, e.Mode)
		case reserved(e.Name):
			return fmt.Errorf("an entry is named %q", e.Name)
		case names[e.Name]:
			return fmt.Errorf("%q is there twice", e.Name)
		case !IsID(e.OID) || len(e.OID) != len(entries[0].OID):
			return fmt.Errorf("%q of %q is not an object id", e.OID, e.Name)
		case ID(e.OID) == "":
			return fmt.Errorf("%q has no object", e.Name)
		}
		names[e.Name] = true
	}
	return nil
}

// inGitsOrder compares entries as git sorts them: a directory as if its name ended with "/".
func inGitsOrder(a, b TreeEntry) int { return cmp.Compare(a.sortedAs(), b.sortedAs()) }

func (e TreeEntry) sortedAs() string {
	if e.Mode == Dir {
		return e.Name + "/"
	}
	return e.Name
}

// reserved reports whether git refuses a name in a tree.
func reserved(name string) bool {
	switch strings.ToLower(name) {
	case "", ".", "..", ".git":
		return true
	}
	return strings.ContainsAny(name, "/\x00")
}

// EncodeCommit renders an unsigned commit. who, "Name <mail>", is author and committer; the
// time is written in UTC and whole seconds. It checks nothing.
func EncodeCommit(tree string, parents []string, who string, when time.Time, message string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %[1]s %[2]d +0000\ncommitter %[1]s %[2]d +0000\n\n%[3]s", who, when.Unix(), message)
	return []byte(b.String())
}

// OwnCommit renders an unsigned commit of githandoff's own, without a real author or a time: nobody's
// words. parent is "" for none.
func OwnCommit(tree, parent, message string) []byte {
	var parents []string
	if parent != "" {
		parents = []string{parent}
	}
	return EncodeCommit(tree, parents, "githandoff <githandoff@localhost>", time.Unix(0, 0), message+"\n")
}

// Parents returns the parents of a raw commit as git reads them: the lines right below the first
// one. A header of that name further below is no parent, and capital digits are digits. All ids
// in a commit have one format.
func Parents(commit []byte) []string {
	_, below, _ := bytes.Cut(commit, []byte("\n"))
	size := len(Tree(commit)) / 2
	var parents []string
	for line := range bytes.Lines(below) {
		value, ok := bytes.CutPrefix(line, []byte("parent "))
		oid, err := hex.DecodeString(string(bytes.TrimSuffix(value, []byte("\n"))))
		if size == 0 { // the commit has no tree line
			size = FormatOf(string(bytes.TrimSuffix(value, []byte("\n")))).Digits() / 2
		}
		if !ok || err != nil || len(oid) != size {
			break
		}
		parents = append(parents, hex.EncodeToString(oid))
	}
	return parents
}

// Tree returns the tree of a raw commit; "" if its first line names none.
func Tree(commit []byte) string {
	line, _, _ := bytes.Cut(commit, []byte("\n"))
	oid, ok := bytes.CutPrefix(line, []byte("tree "))
	if !ok || !IsID(strings.ToLower(string(oid))) {
		return ""
	}
	return string(oid)
}

// FirstParent returns the first parent of a raw commit; "" if there is none.
func FirstParent(commit []byte) string {
	if parents := Parents(commit); len(parents) > 0 {
		return parents[0]
	}
	return ""
}

// Header returns the values of a header of a raw commit, such as "tree", in their order.
// It checks nothing.
func Header(commit []byte, name string) []string {
	var values []string
	for line := range bytes.Lines(commit) {
		if len(line) == 1 { // end of the headers
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			values = append(values, string(bytes.TrimSuffix(value, []byte("\n"))))
		}
	}
	return values
}

// SplitSignature splits a raw commit into the signed bytes and the armored signature. It follows
// parse_signed_commit in git's commit.c. The headers end at the first line with a line feed and nothing
// else, or with the object: a commit needs no message. All headers of the repository's own format together
// are one signature. Other headers beginning with gpgsig are signatures for other formats, and not part of
// the signed bytes.
func SplitSignature(format Format, commit []byte) (signed, signature []byte) {
	_, message, _ := bytes.Cut(commit, []byte("\n\n"))
	header := []byte(format.SignatureHeader() + " ")
	within, other := false, false
	for line := range bytes.Lines(commit[:len(commit)-len(message)]) {
		first, is := bytes.CutPrefix(line, header)
		more := line[0] == ' '
		switch {
		case within && more:
			signature = append(signature, line[1:]...)
			continue
		case is:
			signature = append(signature, first...)
			within, other = true, false
			continue
		case bytes.HasPrefix(line, []byte("gpgsig")):
			other = true
		case !more:
			other = false
		}
		within = false
		if !other {
			signed = append(signed, line...)
		}
	}
	return append(signed, message...), signature
}
