package invite

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strings"
	"time"

	"githandoff/internal/fault"
)

// Kind is the kind of an invitation.
type Kind string

// The kinds.
const (
	Pair Kind = "pair1" // two agents trust each other
	Team Kind = "team1" // an agent joins the team of a root key, which it pins
)

const (
	secretSize = 16
	timeSize   = 4
	checkSize  = 4
	maxURL     = 512 // bytes
	maxPrefix  = 101 // bytes, with the space before it
)

// MaxLife is the longest life of an invitation.
const MaxLife = 7 * 24 * time.Hour

// Code is the message one machine gives another, by a way the hub does not see.
type Code struct {
	Kind    Kind
	Secret  [secretSize]byte
	Expires time.Time // whole seconds
	URL     string    // URL of the hub
	Prefix  string    // prefix of the refs at the hub; empty for refs/handoffs
}

// New makes a code.
func New(kind Kind, url string, expires time.Time, random io.Reader) (Code, error) {
	c := Code{Kind: kind, Expires: expires.UTC().Truncate(time.Second), URL: url}
	if url == "" || len(url) > maxURL {
		return Code{}, fault.New(fault.Usage, fault.BadURL, "an invitation names a URL of 1 to %d bytes, this one has %d", maxURL, len(url))
	}
	if strings.ContainsFunc(url, Forbidden) {
		return Code{}, fault.New(fault.Usage, fault.BadURL, "the URL in an invitation must be ASCII without blanks").
			WithHints(fault.Fact("a URL that begins with ssh:// can write them as %%20 and so on"))
	}
	_, err := io.ReadFull(random, c.Secret[:])
	return c, err
}

// Forbidden reports whether a URL with such a character cannot stand in a code.
func Forbidden(r rune) bool { return r <= ' ' || r > '~' }

// String returns the code as it is pasted.
func (c Code) String() string {
	body := append(c.Secret[:], c.told()...)
	return string(c.Kind) + encoding().EncodeToString(append(body, c.check()...))
}

// told has the parts of a code besides its kind and its secret.
func (c Code) told() []byte {
	var at [timeSize]byte
	binary.BigEndian.PutUint32(at[:], uint32(c.Expires.Unix()))
	return append(at[:], c.place()...)
}

// place returns the URL of the hub, and behind a blank the prefix, if there is one.
func (c Code) place() string {
	if c.Prefix == "" {
		return c.URL
	}
	return c.URL + " " + c.Prefix
}

func (c Code) check() []byte {
	h := sha256.New()
	h.Write([]byte(c.Kind))
	h.Write(c.Secret[:])
	h.Write(c.told())
	return h.Sum(nil)[:checkSize]
}

func encoding() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// Parse reads a code. A cut or mistyped code is refused without details.
func Parse(s string) (Code, error) {
	bad := fault.New(fault.Usage, fault.InvalidInvite, "that is not a complete invitation code").
		WithHints(fault.Fact("a code begins with %s or %s and is one word: copy the line of githandoff invite again", Pair, Team))
	var c Code
	typed := strings.ToLower(strings.TrimSpace(s))
	text := typed
	for _, kind := range []Kind{Pair, Team} {
		if body, ok := strings.CutPrefix(text, string(kind)); ok {
			c.Kind, text = kind, body
		}
	}
	raw, err := encoding().DecodeString(text)
	if c.Kind == "" || err != nil || len(raw) <= secretSize+timeSize+checkSize || len(raw) > secretSize+timeSize+maxURL+maxPrefix+checkSize {
		return Code{}, bad
	}
	copy(c.Secret[:], raw)
	raw = raw[secretSize:]
	c.Expires = time.Unix(int64(binary.BigEndian.Uint32(raw)), 0).UTC()
	c.URL, c.Prefix, _ = strings.Cut(string(raw[timeSize:len(raw)-checkSize]), " ")
	if c.String() != typed || // the checksum is wrong, or unused bits are set
		strings.ContainsFunc(c.URL+c.Prefix, Forbidden) {
		return Code{}, bad
	}
	return c, nil
}

// ID names the invitation at the hub.
func (c Code) ID() string { return hex.EncodeToString(c.derive("id", 16)) }

func (c Code) offerKey() []byte  { return c.derive("offer", sha256.Size) }
func (c Code) answerKey() []byte { return c.derive("answer", sha256.Size) }

func (c Code) derive(name string, size int) []byte {
	salt := append([]byte(c.Kind), c.told()...)
	key, err := hkdf.Key(sha256.New, c.Secret[:], salt, "githandoff-invite/1 "+name, size)
	if err != nil {
		panic(err) // impossible: the sizes are constants that HKDF accepts
	}
	return key
}

// current refuses a code whose time is over.
func current(expires, now time.Time) error {
	if now.Before(expires) {
		return nil
	}
	return fault.New(fault.Denied, fault.Expired, "the invitation expired at %s", expires.UTC().Format(time.RFC3339)).
		WithHints(fault.Fact("ask for another one: githandoff invite, on the other machine"))
}
