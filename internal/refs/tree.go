package refs

import (
	"bytes"
	"encoding/hex"
	"errors"
)

// TreeEntry is one line of a tree.
type TreeEntry struct {
	Mode, Name, OID string
}

// ParseTree reads a raw tree, in its order.
func ParseTree(raw []byte) ([]TreeEntry, error) {
	var entries []TreeEntry
	for len(raw) > 0 {
		mode, rest, ok := bytes.Cut(raw, []byte(" "))
		name, rest, named := bytes.Cut(rest, []byte{0})
		if !ok || !named || len(rest) < 20 {
			return nil, errors.New("not a tree")
		}
		entries = append(entries, TreeEntry{string(mode), string(name), hex.EncodeToString(rest[:20])})
		raw = rest[20:]
	}
	return entries, nil
}
