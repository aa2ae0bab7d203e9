package guard

import (
	"bytes"
	"fmt"
	"strings"

	"githandoff/internal/fault"
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

// readSignedTag splits a tag where git does (gpg-interface.c, parse_signed_buffer):
// before the last line that begins like a signature.
func readSignedTag(raw []byte) (signedObject, bool) {
	at := 0
	for _, begin := range []string{"PGP SIGNATURE", "PGP MESSAGE", "SSH SIGNATURE"} {
		at = max(at, bytes.LastIndex(raw, []byte("\n-----BEGIN "+begin+"-----"))+1)
	}
	if at == 0 {
		return signedObject{}, false
	}
	_, message, _ := bytes.Cut(raw[:at], []byte("\n\n"))
	return signedObject{payload: raw[:at], signature: raw[at:], message: message}, true
}

// agentKey returns the key of an agent, one that is pinned and not as root, in
// whose name something is signed; "" where it is none of those. An error says that
// the signature is not as such a key signs, though git may take it.
func (g *Guard) agentKey(s signedObject) (sign.KID, error) {
	key, err := g.Engine.Trust.Verify(sign.NamespaceGit, s.payload, s.signature)
	if err == nil {
		if key.HasRole(sign.RoleRoot) {
			return "", nil
		}
		return key.KID(), nil
	}
	f := fault.As(err)
	if f == nil {
		return "", err
	}
	kid, err := g.agents.Of(s.signature)
	if err != nil || kid == "" {
		return "", err
	}
	return "", denied(f.Reason, "it is signed in the name of the agent key %s: %w", kid, f)
}

func isAgent(key sign.Key) bool { return !key.HasRole(sign.RoleRoot) }

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
