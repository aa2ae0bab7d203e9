package lifecycle

import (
	"bytes"
	"fmt"
	"strconv"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
)

const (
	envelopeName = "handoff.json"
	oboName      = "obo"

	maxTree = 4096 // bytes: an entry is about 40
)

// payloadTree is the tree of a payload commit, by the object ids in it.
type payloadTree struct {
	envelope string
	sealed   bool   // the envelope is
	obo      string // tree of the tokens; "" where there are none
}

// parsePayloadTree accepts exactly what encodePayloadTree writes.
func parsePayloadTree(raw []byte) (payloadTree, error) {
	var t payloadTree
	entries, err := gitobj.ParseTree(raw)
	for _, e := range entries {
		switch {
		case e.Mode == gitobj.File && e.Name == envelopeName:
			t.envelope = e.OID
		case e.Mode == gitobj.File && e.Name == sealedName:
			t.envelope, t.sealed = e.OID, true
		case e.Mode == gitobj.Dir && e.Name == oboName:
			t.obo = e.OID
		}
	}
	if again, aerr := encodePayloadTree(t); err != nil || aerr != nil || !bytes.Equal(again, raw) {
		return payloadTree{}, denied(fault.MalformedObject, "the tree of the payload holds something other than %s and %s", envelopeName, oboName)
	}
	return t, nil
}

func encodePayloadTree(t payloadTree) ([]byte, error) {
	name := envelopeName
	if t.sealed {
		name = sealedName
	}
	entries := []gitobj.TreeEntry{{Mode: gitobj.File, Name: name, OID: t.envelope}}
	if t.obo != "" {
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.Dir, Name: oboName, OID: t.obo})
	}
	return gitobj.EncodeTree(entries)
}

// linkIDs are the object ids of one token and its signature.
type linkIDs struct{ token, sig string }

// parseTokenTree accepts exactly what encodeTokenTree writes, of 1 to
// obo.MaxLinks links.
func parseTokenTree(raw []byte) ([]linkIDs, error) {
	entries, err := gitobj.ParseTree(raw)
	links := make([]linkIDs, len(entries)/2)
	for i := range links {
		links[i] = linkIDs{entries[2*i].OID, entries[2*i+1].OID}
	}
	if again, aerr := encodeTokenTree(links); err != nil || aerr != nil || len(links) == 0 || !bytes.Equal(again, raw) {
		return nil, denied(fault.MalformedObject, "the tree %s of the payload holds something other than tokens", oboName)
	}
	if len(links) > obo.MaxLinks {
		return nil, denied(fault.DepthInvalid, "a chain of %d tokens, limit %d", len(links), obo.MaxLinks)
	}
	return links, nil
}

func encodeTokenTree(links []linkIDs) ([]byte, error) {
	var entries []gitobj.TreeEntry
	for i, l := range links {
		n := strconv.Itoa(i)
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.File, Name: n + ".json", OID: l.token}, gitobj.TreeEntry{Mode: gitobj.File, Name: n + ".sig", OID: l.sig})
	}
	return gitobj.EncodeTree(entries)
}

// tokenPath is where the last of a chain of n tokens lies in the payload.
func tokenPath(n int) string { return fmt.Sprintf("%s/%d.json", oboName, n-1) }

// tokenObjects are the blobs of a chain and the tree that holds them, last.
func tokenObjects(links []obo.SignedToken) ([]*refs.Object, error) {
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
