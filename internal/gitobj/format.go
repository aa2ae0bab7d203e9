package gitobj

import (
	"crypto"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	githash "github.com/go-git/go-git/v5/plumbing/hash"
)

// Format says how a repository names its objects. It is git's own name for it
// (extensions.objectFormat).
type Format string

// The formats of git. All repositories that one handoff goes through have the same one: git
// transfers nothing between two formats.
const (
	SHA1   Format = "sha1"
	SHA256 Format = "sha256" // default of new repositories from git 3.0 on
)

// FormatOf returns the format of an object id by its length.
func FormatOf(oid string) Format {
	if len(oid) == SHA256.Digits() {
		return SHA256
	}
	return SHA1
}

func (f Format) function() crypto.Hash {
	if f == SHA256 {
		return crypto.SHA256
	}
	return crypto.SHA1
}

// Digits returns how many hex digits an object id has.
func (f Format) Digits() int { return 2 * f.function().Size() }

// Zero returns the id of zeros, by which git says that there is no object.
func (f Format) Zero() string { return strings.Repeat("0", f.Digits()) }

// EmptyTree returns the id of the tree without entries.
func (f Format) EmptyTree() string {
	if f == SHA256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// IsEmptyTree reports whether an id is that of the tree without entries, in either format.
func IsEmptyTree(oid string) bool { return oid == FormatOf(oid).EmptyTree() }

// SignatureHeader returns the name of the header with the signature of a commit.
func (f Format) SignatureHeader() string {
	if f == SHA256 {
		return "gpgsig-sha256"
	}
	return "gpgsig"
}

// Hash returns the id of an object.
func (f Format) Hash(kind string, body []byte) string {
	h := f.Hasher(kind, int64(len(body)))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Hasher returns what computes the id of an object whose body, of size bytes, is still to be
// written to it. As in git, the SHA-1 of a body made to collide with another is a different one.
func (f Format) Hasher(kind string, size int64) hash.Hash {
	h := githash.New(f.function())
	fmt.Fprintf(h, "%s %d\x00", kind, size)
	return h
}

// Sum returns the checksum of some bytes.
func (f Format) Sum(b []byte) []byte {
	h := githash.New(f.function())
	h.Write(b)
	return h.Sum(nil)
}

// IsID reports whether s is a full object id of either format, in lower-case hex digits.
func IsID(s string) bool {
	return (len(s) == SHA1.Digits() || len(s) == SHA256.Digits()) && strings.Trim(s, "0123456789abcdef") == ""
}

// ID returns an object id as git prints it; "" for the id of zeros, which names no object.
func ID(oid string) string {
	if strings.Trim(oid, "0") == "" {
		return ""
	}
	return oid
}
