package record

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/handoff"
)

// MaxCommit bounds a raw commit: message, signature (RSA-4096 armored is about
// 900 bytes) and headers.
const MaxCommit = 80 << 10

// Commit is a commit of ours as it lies in the object store.
type Commit struct {
	Tree      string
	Parents   []string
	Email     string // of author and committer; the name is Record.Actor
	Record    *Record
	Signature []byte // armored, one LF at the end; empty while unsigned
}

// Payload is the signed text: the raw object without its gpgsig.
func (c *Commit) Payload() []byte {
	unsigned := *c
	unsigned.Signature = nil
	return unsigned.Encode()
}

// Encode is the raw object.
func (c *Commit) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	ident := fmt.Sprintf("%s <%s> %d +0000\n", c.Record.Actor, c.Email, c.Record.At.Unix())
	b.WriteString("author " + ident)
	b.WriteString("committer " + ident)
	if len(c.Signature) > 0 {
		// A header of several lines: each but the first begins with a space.
		folded := bytes.ReplaceAll(bytes.TrimSuffix(c.Signature, []byte("\n")), []byte("\n"), []byte("\n "))
		b.WriteString("gpgsig ")
		b.Write(folded)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	b.Write(c.Record.Message())
	return b.Bytes()
}

// Check says why c must not be written; nil if it may.
func (c *Commit) Check() error {
	if err := c.Record.check(); err != nil {
		return err
	}
	if n := len(c.Record.Message()); n > maxMessage {
		return fmt.Errorf("message of %d bytes, limit %d", n, maxMessage)
	}
	if err := checkMail(c.Email); err != nil {
		return err
	}
	return c.checkPlace()
}

// checkMail accepts what may stand between < and > of an author: 1 to 254 printable
// characters without blanks and angle brackets.
func checkMail(s string) error {
	if _, odd := unprintable(s); odd || s == "" || len(s) > 254 || strings.ContainsAny(s, "<> ") {
		return fmt.Errorf("mail address %q cannot stand in a commit", clip(s))
	}
	return nil
}

// ParseCommit reads a raw commit and requires the one form that Encode writes:
// no other header, no header twice, one signature, nothing that re-encodes
// differently. It does not check the signature.
func ParseCommit(raw []byte) (*Commit, error) {
	if len(raw) > MaxCommit {
		return nil, fmt.Errorf("commit of %d bytes, limit %d", len(raw), MaxCommit)
	}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		return nil, fmt.Errorf("commit without a message")
	}
	h := headers{lines: strings.Split(string(head), "\n")}
	c := &Commit{Tree: h.take("tree")}
	for p := h.take("parent"); p != ""; p = h.take("parent") {
		c.Parents = append(c.Parents, p)
	}
	author, committer := h.take("author"), h.take("committer")
	c.Signature = h.takeFolded("gpgsig")
	if len(h.lines) > 0 {
		return nil, fmt.Errorf("commit header %q is unexpected here", clip(h.lines[0]))
	}
	for _, oid := range append([]string{c.Tree}, c.Parents...) {
		if !handoff.IsHex(oid, 40) {
			return nil, fmt.Errorf("%q is not an object id", clip(oid))
		}
	}
	if author != committer {
		return nil, fmt.Errorf("author and committer differ")
	}
	name, email, at, err := parseIdent(author)
	if err != nil {
		return nil, err
	}
	c.Email = email
	if c.Record, err = Parse(message, name); err != nil {
		return nil, err
	}
	if !c.Record.At.Equal(at) {
		return nil, fmt.Errorf("Handoff-At and the time of the commit differ")
	}
	if err := checkMail(c.Email); err != nil {
		return nil, err
	}
	if !bytes.Equal(c.Encode(), raw) {
		return nil, fmt.Errorf("commit is not in canonical form")
	}
	if err := c.checkPlace(); err != nil {
		return nil, err
	}
	return c, nil
}

type headers struct{ lines []string }

func (h *headers) take(key string) string {
	if len(h.lines) == 0 {
		return ""
	}
	value, ok := strings.CutPrefix(h.lines[0], key+" ")
	if !ok {
		return ""
	}
	h.lines = h.lines[1:]
	return value
}

func (h *headers) takeFolded(key string) []byte {
	first := h.take(key)
	if first == "" {
		return nil
	}
	b := []byte(first + "\n")
	for len(h.lines) > 0 && strings.HasPrefix(h.lines[0], " ") {
		b = append(append(b, h.lines[0][1:]...), '\n')
		h.lines = h.lines[1:]
	}
	return b
}

func parseIdent(s string) (name, email string, at time.Time, err error) {
	name, rest, ok1 := strings.Cut(s, " <")
	email, rest, ok2 := strings.Cut(rest, "> ")
	secs, ok3 := strings.CutSuffix(rest, " +0000")
	unix, perr := strconv.ParseInt(secs, 10, 64)
	if !ok1 || !ok2 || !ok3 || perr != nil {
		return "", "", time.Time{}, fmt.Errorf("identity %q is not in canonical form", clip(s))
	}
	return name, email, time.Unix(unix, 0).UTC(), nil
}
