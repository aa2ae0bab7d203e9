package record

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
)

// MaxCommit bounds a raw commit: message, signature (RSA-4096 armored is about
// 900 bytes) and headers.
const MaxCommit = 80 << 10

// Commit is a commit made by githandoff, as in the object store.
type Commit struct {
	Tree      string
	Parents   []string
	Email     string // mail address of author and committer; their name is Record.Actor
	Record    *Record
	Signature []byte // armored, with one LF at its end; empty before signing
}

// Payload returns the signed text: the raw object without the header of the signature.
func (c *Commit) Payload() []byte {
	unsigned := *c
	unsigned.Signature = nil
	return unsigned.Encode()
}

// Encode returns the raw object.
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
		b.WriteString(gitobj.FormatOf(c.Tree).SignatureHeader() + " ")
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

// checkMail accepts an address fit to stand between < and > of an author: 1 to 254 printable
// characters without blanks and angle brackets.
func checkMail(s string) error {
	if _, odd := unprintable(s); odd || s == "" || len(s) > 254 || strings.ContainsAny(s, "<> ") {
		return fmt.Errorf("mail address %q cannot stand in a commit", handoff.Clip(s, maxShown))
	}
	return nil
}

// ParseCommit reads a raw commit and requires the one form written by Encode: no other header,
// no header twice, one signature, and the same bytes when encoded again. It does not check the
// signature.
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
	c.Signature = h.takeFolded(gitobj.FormatOf(c.Tree).SignatureHeader())
	if len(h.lines) > 0 {
		return nil, fmt.Errorf("commit header %q is unexpected here", handoff.Clip(h.lines[0], maxShown))
	}
	for _, oid := range append([]string{c.Tree}, c.Parents...) {
		if !gitobj.IsID(oid) || len(oid) != len(c.Tree) {
			return nil, fmt.Errorf("%q is not an object id", handoff.Clip(oid, maxShown))
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
		return "", "", time.Time{}, fmt.Errorf("identity %q is not in canonical form", handoff.Clip(s, maxShown))
	}
	return name, email, time.Unix(unix, 0).UTC(), nil
}

// Scan reads the fields shown in a list from a raw commit, without checking its form or its
// signature: event, actor, agents, task, parent, home, digest and times. It is several times faster
// than ParseCommit. The result is unverified: print it escaped, and decide nothing by it.
func Scan(raw []byte) (*Record, error) { return scan(raw, true) }

// Reread reads the whole record of a commit accepted by ParseCommit before, and returns the
// same. For any other commit the result is unverified, as with Scan.
func Reread(raw []byte) (*Record, error) { return scan(raw, false) }

// scan reads a commit. For a list, the texts are copied, so that the message need not stay in
// memory.
func scan(raw []byte, listed bool) (*Record, error) {
	if len(raw) > MaxCommit {
		return nil, fmt.Errorf("commit of %d bytes, limit %d", len(raw), MaxCommit)
	}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		return nil, fmt.Errorf("commit without a message")
	}
	r := &Record{}
	if _, author, ok := bytes.Cut(head, []byte("\nauthor ")); ok {
		name, _, _ := bytes.Cut(author, []byte(" <"))
		r.Actor = string(name)
	}
	_, block, _ := strings.Cut(string(message), "\n\n")
	at := 0
	for len(block) > 0 {
		var line string
		line, block, _ = strings.Cut(block, "\n")
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		if at = find(key, at+1); at < 0 || listed && !trailers[at].listed {
			continue
		}
		t := &trailers[at]
		switch {
		case t.time != nil:
			*t.time(r), _ = time.Parse(time.RFC3339, value)
		case listed:
			*t.text(r) = strings.Clone(value)
		default:
			*t.text(r) = value
		}
	}
	if r.Event == "" || r.ID == "" {
		return nil, fmt.Errorf("not a commit of githandoff")
	}
	return r, nil
}

// IDOf returns the handoff that a raw commit claims to be about: the rest of the last line that
// begins with "Handoff-Id: ", or "" if this is not an id. Nothing else about the commit has to be
// valid, so everybody agrees which handoff a malformed commit disputes.
func IDOf(raw []byte) handoff.ID {
	const trailer = "\nHandoff-Id: "
	i := bytes.LastIndex(raw, []byte(trailer))
	if i < 0 {
		return ""
	}
	value, _, _ := bytes.Cut(raw[i+len(trailer):], []byte("\n"))
	id, err := handoff.ParseID(string(value))
	if err != nil {
		return ""
	}
	return id
}
