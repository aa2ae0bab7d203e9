// Package gitobj reads and writes the bytes of git's tree objects, with go-git. It also renders
// unsigned commits and reads the headers of commits.
//
// go-git is lenient where it reads: it takes modes no longer written by git, and entries in any
// order. A signature or an object id covers bytes, so this package encodes each tree again after
// reading it and requires the same bytes: a tree which git would not have written is refused.
package gitobj

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// The modes written by git into a tree.
const (
	Dir     = "40000"
	File    = "100644"
	Exec    = "100755"
	Symlink = "120000"
	Gitlink = "160000" // a commit of another repository: the object need not be here
)

var modes = map[string]filemode.FileMode{
	Dir: filemode.Dir, File: filemode.Regular, Exec: filemode.Executable, Symlink: filemode.Symlink, Gitlink: filemode.Submodule,
}

// modeName returns the name of one of the modes, "" for another mode.
func modeName(mode filemode.FileMode) string {
	switch mode {
	case filemode.Dir:
		return Dir
	case filemode.Regular:
		return File
	case filemode.Executable:
		return Exec
	case filemode.Symlink:
		return Symlink
	case filemode.Submodule:
		return Gitlink
	}
	return ""
}

// TreeEntry is one line of a tree.
type TreeEntry struct {
	Mode string // one of the constants
	Name string // not empty, without "/" and NUL
	OID  string // 40 hex digits
}

// ParseTree reads the body of a tree. It accepts only trees reproduced byte for byte by
// EncodeTree: the entries are in git's order and no name occurs twice.
func ParseTree(body []byte) ([]TreeEntry, error) {
	var tree object.Tree
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.TreeObject)
	if _, err := o.Write(body); err != nil {
		return nil, err
	}
	if err := tree.Decode(o); err != nil {
		return nil, fmt.Errorf("parse tree: %w", err)
	}
	again, err := encode(&tree)
	if err != nil {
		return nil, fmt.Errorf("parse tree: %w", err)
	}
	if !bytes.Equal(again, body) {
		return nil, errors.New("parse tree: git would write it with other bytes")
	}
	entries := make([]TreeEntry, len(tree.Entries))
	for i, e := range tree.Entries {
		entries[i] = TreeEntry{modeName(e.Mode), e.Name, e.Hash.String()}
	}
	return entries, nil
}

// EncodeTree renders entries, given in any order, as the body of a tree.
func EncodeTree(entries []TreeEntry) ([]byte, error) {
	tree := object.Tree{Entries: make([]object.TreeEntry, len(entries))}
	for i, e := range entries {
		mode, ok := modes[e.Mode]
		switch {
		case !ok:
			return nil, fmt.Errorf("%q has mode %q", e.Name, e.Mode)
		case !plumbing.IsHash(e.OID):
			return nil, fmt.Errorf("%q is not an object id", e.OID)
		}
		tree.Entries[i] = object.TreeEntry{Name: e.Name, Mode: mode, Hash: plumbing.NewHash(e.OID)}
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	return encode(&tree)
}

// encode renders a tree in git's order.
func encode(tree *object.Tree) ([]byte, error) {
	names := make(map[string]bool, len(tree.Entries))
	for _, e := range tree.Entries {
		switch {
		case modeName(e.Mode) == "":
			return nil, fmt.Errorf("%q has mode %q", e.Name, e.Mode)
		case reserved(e.Name):
			return nil, fmt.Errorf("an entry is named %q", e.Name)
		case names[e.Name]:
			return nil, fmt.Errorf("%q is there twice", e.Name)
		case e.Hash.IsZero():
			return nil, fmt.Errorf("%q has no object", e.Name)
		}
		names[e.Name] = true
	}
	o := &plumbing.MemoryObject{}
	if err := tree.Encode(o); err != nil {
		return nil, fmt.Errorf("encode tree: %w", err)
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
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

// ID returns an object id as git prints it; "" for the id of zeros, which names no object.
func ID(hex string) string {
	if strings.Trim(hex, "0") == "" {
		return ""
	}
	return hex
}

// Parents returns the parents of a raw commit as git reads them: the lines right below the first
// one. A header of that name further below is no parent, and capital digits are digits.
func Parents(commit []byte) []string {
	_, below, _ := bytes.Cut(commit, []byte("\n"))
	var parents []string
	for line := range bytes.Lines(below) {
		value, ok := bytes.CutPrefix(line, []byte("parent "))
		oid, err := hex.DecodeString(string(bytes.TrimSuffix(value, []byte("\n"))))
		if !ok || err != nil || len(oid) != 20 {
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
	if raw, err := hex.DecodeString(string(oid)); !ok || err != nil || len(raw) != 20 {
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
