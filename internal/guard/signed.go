package guard

import (
	"bytes"
	"fmt"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/sign"
)

// signedObject is a commit or an annotated tag, split into the signed bytes and the armored
// signature.
type signedObject struct {
	payload, signature []byte
	message            []byte
}

// readSigned splits a raw commit or tag as git does before verifying it; false if git finds no
// signature. If git considers an object signed, it must count as signed here, so every form that
// git accepts is accepted. The commits need not be well-formed.
func readSigned(format gitobj.Format, kind string, raw []byte) (signedObject, bool) {
	switch kind {
	case "commit":
		return readSignedCommit(format, raw)
	case "tag":
		return readSignedTag(raw)
	}
	return signedObject{}, false
}

// readSignedCommit splits a commit. A commit needs no message.
func readSignedCommit(format gitobj.Format, raw []byte) (signedObject, bool) {
	_, message, _ := bytes.Cut(raw, []byte("\n\n"))
	payload, signature := gitobj.SplitSignature(format, raw)
	return signedObject{payload, signature, message}, len(signature) > 0
}

// readSignedTag follows parse_signature in git's gpg-interface.c: the signature begins at the
// last line with the beginning of one. Headers gpgsig and gpgsig-sha256
// are not part of the signed bytes.
func readSignedTag(raw []byte) (signedObject, bool) {
	at := 0
	for _, begin := range []string{"PGP SIGNATURE", "PGP MESSAGE", "SIGNED MESSAGE", "SSH SIGNATURE"} {
		at = max(at, bytes.LastIndex(raw, []byte("\n-----BEGIN "+begin+"-----"))+1)
	}
	if at == 0 {
		return signedObject{}, false
	}
	_, message, _ := bytes.Cut(raw[:at], []byte("\n\n"))
	s := signedObject{signature: raw[at:], message: message}
	other := false
	for line := range bytes.Lines(raw[:at-len(s.message)]) {
		other = bytes.HasPrefix(line, []byte("gpgsig ")) || bytes.HasPrefix(line, []byte("gpgsig-sha256 ")) || other && line[0] == ' '
		if !other {
			s.payload = append(s.payload, line...)
		}
	}
	s.payload = append(s.payload, s.message...)
	return s, true
}

// agentKey returns the pinned key, other than a root key, in whose name something is signed; "" if
// there is none. An error means that no agent's key makes such a signature, although git may accept
// it.
func (cj *codeJudge) agentKey(s signedObject) (sign.KID, error) {
	key, err := cj.Verifier.Keys.Trust.Verify(sign.NamespaceGit, s.payload, s.signature)
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
	kid, err := cj.agents.Of(s.signature)
	if err != nil || kid == "" {
		return "", err
	}
	return "", denied(f.Reason, "it is signed in the name of the agent key %s: %w", kid, f)
}

func isAgent(key sign.Key) bool { return !key.HasRole(sign.RoleRoot) }

// trailer returns the value of a key in the last paragraph of a message. As for git, case does
// not matter; a repeated key must repeat its value.
func trailer(message []byte, key string) (string, error) {
	text := strings.TrimRight(string(message), "\n \t")
	found := ""
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[i+2:]
	} else {
		text = "" // the subject is never a trailer
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
