package notes

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// digits is the length of an object id in hex: SHA-1.
const digits = 40

// The modes that git writes into a tree.
const (
	modeTree    = "40000"
	modeFile    = "100644"
	modeExec    = "100755"
	modeSymlink = "120000"
	modeGitlink = "160000"
)

// entry is one entry of a tree object.
type entry struct {
	mode string
	name string
	oid  string // hex
}

// sortKey is the name as git orders it: a tree's as if it ended in a slash.
func (e entry) sortKey() string {
	if e.mode == modeTree {
		return e.name + "/"
	}
	return e.name
}

func (e entry) isRegular() bool { return e.mode == modeFile || e.mode == modeExec }

// parseTree reads a raw tree. What it accepts, encodeTree gives back byte for
// byte.
func parseTree(body []byte) ([]entry, error) {
	var entries []entry
	seen := make(map[string]bool)
	for len(body) > 0 {
		head, rest, ok := bytes.Cut(body, []byte{0})
		if !ok || len(rest) < digits/2 {
			return nil, errors.New("cut short")
		}
		mode, name, ok := strings.Cut(string(head), " ")
		if !ok {
			return nil, errors.New("an entry has no mode")
		}
		e := entry{mode: mode, name: name, oid: hex.EncodeToString(rest[:digits/2])}
		if err := e.check(); err != nil {
			return nil, err
		}
		if n := len(entries); n > 0 && entries[n-1].sortKey() >= e.sortKey() {
			return nil, fmt.Errorf("%q is out of order", name)
		}
		// In good order a file and a tree of one name need not be neighbours.
		if seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		entries = append(entries, e)
		body = rest[digits/2:]
	}
	return entries, nil
}

func (e entry) check() error {
	switch e.mode {
	case modeTree, modeFile, modeExec, modeSymlink, modeGitlink:
	default:
		return fmt.Errorf("%q has mode %q", e.name, e.mode)
	}
	switch strings.ToLower(e.name) {
	case "", ".", "..", ".git":
		return fmt.Errorf("an entry is named %q", e.name)
	}
	if strings.Contains(e.name, "/") {
		return fmt.Errorf("%q has a slash in it", e.name)
	}
	if strings.Trim(e.oid, "0") == "" {
		return fmt.Errorf("%q has the null object id", e.name)
	}
	return nil
}

// encodeTree renders entries, in any order, as a raw tree.
func encodeTree(entries []entry) []byte {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b entry) int {
		return cmp.Compare(a.sortKey(), b.sortKey())
	})
	var body []byte
	for _, e := range sorted {
		body = append(body, e.mode+" "+e.name+"\x00"...)
		body, _ = hex.AppendDecode(body, []byte(e.oid)) // hex by construction
	}
	return body
}
