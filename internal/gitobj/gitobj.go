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
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The modes written by git into a tree.
const (
	Dir     = "40000"
	File    = "100644"
	Exec    = "100755"
	Symlink = "120000"
	Gitlink = "160000" // a commit of another repository: the object need not be here
)

// TreeEntry is one line of a tree.
type TreeEntry struct {
	Mode string // one of the constants
	Name string // not empty, without "/" and NUL
	OID  string // in hex, of the repository's format
}

// ParseTree reads the body of a tree in a repository of this format. It accepts only trees
// reproduced byte for byte by EncodeTree: the entries are in git's order and no name occurs twice.
func (f Format) ParseTree(body []byte) ([]TreeEntry, error) {
	var entries []TreeEntry
	for rest := body; len(rest) > 0; {
		head, after, ok := bytes.Cut(rest, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ok || !named || len(after) < f.size() {
			return nil, errors.New("parse tree: an entry is cut short")
		}
		entries = append(entries, TreeEntry{mode, name, hex.EncodeToString(after[:f.size()])})
		rest = after[f.size():]
	}
	again, err := EncodeTree(entries)
	if err != nil {
		return nil, fmt.Errorf("parse tree: %w", err)
	}
	if !bytes.Equal(again, body) {
		return nil, errors.New("parse tree: git would write it with other bytes")
	}
	return entries, nil
}

// EncodeTree renders entries, given in any order, as the body of a tree.
func EncodeTree(entries []TreeEntry) ([]byte, error) {
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		switch {
		case !slices.Contains([]string{Dir, File, Exec, Symlink, Gitlink}, e.Mode):
			return nil, fmt.Errorf("%q has mode %q", e.Name, e.Mode)
		case reserved(e.Name):
			return nil, fmt.Errorf("an entry is named %q", e.Name)
		case names[e.Name]:
			return nil, fmt.Errorf("%q is there twice", e.Name)
		case !IsID(e.OID) || len(e.OID) != len(entries[0].OID):
			return nil, fmt.Errorf("%q of %q is not an object id", e.OID, e.Name)
		case ID(e.OID) == "":
			return nil, fmt.Errorf("%q has no object", e.Name)
		}
		names[e.Name] = true
	}
	var body []byte
	for _, e := range slices.SortedFunc(slices.Values(entries), inGitsOrder) {
		body = fmt.Appendf(body, "%s %s\x00", e.Mode, e.Name)
		body, _ = hex.AppendDecode(body, []byte(e.OID)) // IsID says that it can
	}
	return body, nil
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
		if size == 0 { // no tree
			size = FormatOf(string(bytes.TrimSuffix(value, []byte("\n")))).size()
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
		if len(line) == 1 { // the end of the headers
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			values = append(values, string(bytes.TrimSuffix(value, []byte("\n"))))
		}
	}
	return values
}
