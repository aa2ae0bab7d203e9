package guard

import (
	"bytes"
	"fmt"
	"strings"

	"githandoff/internal/sign"
)

// signedObject is a commit or an annotated tag as the bytes that were signed and
// the armored signature.
type signedObject struct {
	payload, signature []byte
	message            []byte
}

// readSigned splits a raw commit or tag; false where nobody signed it. What git
// writes in gpgsig is the signature of a commit; that of a tag ends its message.
func readSigned(kind string, raw []byte) (signedObject, bool) {
	switch kind {
	case "commit":
		return readSignedCommit(raw)
	case "tag":
		return readSignedTag(raw)
	}
	return signedObject{}, false
}

func readSignedCommit(raw []byte) (signedObject, bool) {
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		return signedObject{}, false
	}
	s := signedObject{message: message}
	within := false
	for line := range bytes.Lines(append(bytes.Clone(head), '\n')) {
		first, is := bytes.CutPrefix(line, []byte("gpgsig "))
		within = is || within && line[0] == ' '
		switch {
		case is:
			s.signature = append(s.signature, first...)
		case within:
			s.signature = append(s.signature, line[1:]...)
		default:
			s.payload = append(s.payload, line...)
		}
	}
	s.payload = append(append(s.payload, '\n'), message...)
	return s, len(s.signature) > 0
}

func readSignedTag(raw []byte) (signedObject, bool) {
	for _, begin := range []string{"-----BEGIN PGP SIGNATURE-----\n", "-----BEGIN SSH SIGNATURE-----\n"} {
		if i := bytes.LastIndex(raw, []byte("\n"+begin)); i >= 0 {
			_, message, _ := bytes.Cut(raw[:i+1], []byte("\n\n"))
			return signedObject{payload: raw[:i+1], signature: raw[i+1:], message: message}, true
		}
	}
	return signedObject{}, false
}

// agentKey returns the key of an agent that signed it: one that is pinned, and not
// as root. A signature that does not verify is nobody's.
func (g *Guard) agentKey(s signedObject) (sign.Key, bool) {
	key, err := g.Engine.Trust.Verify(sign.NamespaceGit, s.payload, s.signature)
	return key, err == nil && !key.HasRole(sign.RoleRoot)
}

// trailer returns the value that a message gives a key in its last paragraph. As
// for git, case does not matter; one that is given twice must be the same twice.
func trailer(message []byte, key string) (string, error) {
	text := strings.TrimRight(string(message), "\n \t")
	found := ""
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[i+2:]
	} else {
		text = "" // the subject is no trailer, whatever it looks like
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !strings.EqualFold(strings.TrimRight(name, " "), key) {
			continue
		}
		value = strings.TrimSpace(value)
		if found != "" && value != found {
			return "", fmt.Errorf("it gives %s twice", key)
		}
		found = value
	}
	if found == "" {
		return "", fmt.Errorf("it gives no %s", key)
	}
	return found, nil
}
