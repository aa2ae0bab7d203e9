package lifecycle

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"

	"githandoff/internal/fault"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
)

const (
	envelopeName = "handoff.json"
	oboName      = "obo"

	modeFile = "100644"
	modeTree = "40000"

	maxTree = 4096 // bytes: an entry is about 40
)

// payloadTree is the tree of a payload commit, by the object ids in it.
type payloadTree struct {
	envelope string
	sealed   bool   // the envelope is
	obo      string // tree of the tokens; "" where there are none
}

// treeEntry is one line of a git tree.
type treeEntry struct{ mode, name, oid string }

// parseTree reads what git calls the canonical format of a tree. Nothing is
// said of its order or its names.
func parseTree(raw []byte) ([]treeEntry, bool) {
	var entries []treeEntry
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		mode, name, spaced := bytes.Cut(head, []byte{' '})
		if !ok || !spaced || len(rest) < 20 {
			return nil, false
		}
		entries = append(entries, treeEntry{string(mode), string(name), hex.EncodeToString(rest[:20])})
		raw = rest[20:]
	}
	return entries, true
}

func encodeTree(entries []treeEntry) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range entries {
		oid, err := hex.DecodeString(e.oid)
		if err != nil || len(oid) != 20 {
			return nil, fmt.Errorf("encode tree: %q is not an object id", e.oid)
		}
		fmt.Fprintf(&b, "%s %s\x00%s", e.mode, e.name, oid)
	}
	return b.Bytes(), nil
}

// parsePayloadTree accepts exactly what encodePayloadTree writes.
func parsePayloadTree(raw []byte) (payloadTree, error) {
	var t payloadTree
	entries, ok := parseTree(raw)
	for _, e := range entries {
		switch {
		case e.mode == modeFile && e.name == envelopeName:
			t.envelope = e.oid
		case e.mode == modeFile && e.name == sealedName:
			t.envelope, t.sealed = e.oid, true
		case e.mode == modeTree && e.name == oboName:
			t.obo = e.oid
		}
	}
	if again, err := encodePayloadTree(t); !ok || err != nil || !bytes.Equal(again, raw) {
		return payloadTree{}, denied(fault.MalformedObject, "the tree of the payload holds something other than %s and %s", envelopeName, oboName)
	}
	return t, nil
}

func encodePayloadTree(t payloadTree) ([]byte, error) {
	name := envelopeName
	if t.sealed {
		name = sealedName
	}
	entries := []treeEntry{{modeFile, name, t.envelope}}
	if t.obo != "" {
		entries = append(entries, treeEntry{modeTree, oboName, t.obo})
	}
	return encodeTree(entries)
}

// linkIDs are the object ids of one token and its signature.
type linkIDs struct{ token, sig string }

// parseTokenTree accepts exactly what encodeTokenTree writes, of 1 to
// obo.MaxLinks links.
func parseTokenTree(raw []byte) ([]linkIDs, error) {
	entries, ok := parseTree(raw)
	links := make([]linkIDs, len(entries)/2)
	for i := range links {
		links[i] = linkIDs{entries[2*i].oid, entries[2*i+1].oid}
	}
	if again, err := encodeTokenTree(links); !ok || err != nil || len(links) == 0 || !bytes.Equal(again, raw) {
		return nil, denied(fault.MalformedObject, "the tree %s of the payload holds something other than tokens", oboName)
	}
	if len(links) > obo.MaxLinks {
		return nil, denied(fault.DepthInvalid, "a chain of %d tokens, at most %d", len(links), obo.MaxLinks)
	}
	return links, nil
}

func encodeTokenTree(links []linkIDs) ([]byte, error) {
	var entries []treeEntry
	for i, l := range links {
		n := strconv.Itoa(i)
		entries = append(entries, treeEntry{modeFile, n + ".json", l.token}, treeEntry{modeFile, n + ".sig", l.sig})
	}
	return encodeTree(entries)
}

// tokenPath is where the last of a chain of n tokens lies in the payload.
func tokenPath(n int) string { return fmt.Sprintf("%s/%d.json", oboName, n-1) }

// tokenObjects are the blobs of a chain and the tree that holds them, last.
func tokenObjects(links []obo.Link) ([]*refs.Object, error) {
	var objects []*refs.Object
	var ids []linkIDs
	for _, l := range links {
		token, sig := refs.NewObject("blob", l.Token), refs.NewObject("blob", l.Sig)
		objects = append(objects, token, sig)
		ids = append(ids, linkIDs{token.OID, sig.OID})
	}
	body, err := encodeTokenTree(ids)
	return append(objects, refs.NewObject("tree", body)), err
}
