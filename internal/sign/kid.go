package sign

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
)

// KID names a key: "openpgp:" and the 40 lower-case hex digits of a v4
// fingerprint, or "ssh:SHA256:" and 43 characters of unpadded base64, as
// ssh-keygen -l prints them. A signing subkey has no KID of its own: it speaks
// for its primary key.
type KID = string

const (
	openpgpPrefix = "openpgp:"
	sshPrefix     = "ssh:SHA256:"
)

// CheckKID says why s is not the one spelling of a KID; nil if it is.
func CheckKID(s string) error {
	if digits, ok := strings.CutPrefix(s, openpgpPrefix); ok {
		if fingerprint, err := hex.DecodeString(digits); err == nil && len(fingerprint) == 20 && digits == strings.ToLower(digits) {
			return nil
		}
	}
	if digits, ok := strings.CutPrefix(s, sshPrefix); ok {
		sum, err := base64.RawStdEncoding.DecodeString(digits)
		if err == nil && len(sum) == 32 && digits == base64.RawStdEncoding.EncodeToString(sum) {
			return nil
		}
	}
	return fault.New(fault.Invalid, fault.Malformed, "%q is not a key id", s).
		WithHints(fault.Fact("a key id is openpgp: and 40 hex digits, or ssh:SHA256: and 43 characters"))
}

func openpgpKID(fingerprint []byte) KID { return openpgpPrefix + hex.EncodeToString(fingerprint) }

func sshKID(key ssh.PublicKey) KID { return "ssh:" + ssh.FingerprintSHA256(key) }

// Hex spells a KID as one component of a ref name: the 40 digits of an OpenPGP
// fingerprint, or the 64 of the SHA-256 sum that names an SSH key.
func Hex(kid KID) string {
	if digits, ok := strings.CutPrefix(kid, sshPrefix); ok {
		sum, _ := base64.RawStdEncoding.DecodeString(digits)
		return hex.EncodeToString(sum)
	}
	return strings.TrimPrefix(kid, openpgpPrefix)
}

// FromHex reads the output of Hex; false for any other spelling.
func FromHex(digits string) (KID, bool) {
	b, err := hex.DecodeString(digits)
	if err != nil || digits != strings.ToLower(digits) {
		return "", false
	}
	switch len(b) {
	case 20:
		return openpgpKID(b), true
	case 32:
		return sshPrefix + base64.RawStdEncoding.EncodeToString(b), true
	}
	return "", false
}
