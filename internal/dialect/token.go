package dialect

import (
	"encoding/base64"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// tokenType is the claim "typ" of known tokens.
const tokenType = "githandoff-obo/1"

// EncodeToken returns the text of a token: its JSON bytes and its detached signature,
// both as unpadded base64url (RFC 4648, section 5), with a dot between them.
func EncodeToken(claims, signature []byte) string {
	return base64.RawURLEncoding.EncodeToString(claims) + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// DecodeToken takes the text of a token apart. It proves nothing but the form;
// anything but a token of ours, such as a bearer token, is refused with
// [fault.Denied]. No message repeats any part of it.
func DecodeToken(text string) (claims, signature []byte, err error) {
	foreign := fault.New(fault.Denied, fault.Malformed, "the token is not a %s token", tokenType).
		WithHints(fault.Fact("bearer tokens of other systems are refused; a person issues one with githandoff emit --on-behalf-of"))
	first, second, ok := strings.Cut(text, ".")
	if !ok || second == "" {
		return nil, nil, foreign
	}
	strict := base64.RawURLEncoding.Strict()
	if claims, err = strict.DecodeString(first); err != nil {
		return nil, nil, foreign
	}
	if signature, err = strict.DecodeString(second); err != nil {
		return nil, nil, foreign
	}
	// The decoder passes over line ends; a token has one spelling.
	if EncodeToken(claims, signature) != text {
		return nil, nil, foreign
	}
	var object map[string]any
	if handoff.ParseStrict(claims, &object) != nil || object["typ"] != tokenType {
		return nil, nil, foreign
	}
	return claims, signature, nil
}

// AddToken puts a token into a vox document made by [Export].
func AddToken(vox []byte, token string) ([]byte, error) {
	root, err := parse(Vox, source{json: vox})
	if err != nil {
		return nil, err
	}
	if _, _, err := DecodeToken(token); err != nil {
		return nil, err
	}
	root[voxToken] = token
	return handoff.Canonical(root)
}
