// Package untrusted makes somebody else's text safe to print.
//
// A handoff is written by another agent, a hub speaks in its own words, and a path
// or a ref name may hold anything. Such text reaches a terminal, a log or the prompt
// of a model in one of three ways:
//
//   - [Line] escapes control and invisible characters, so a line stays a line;
//   - [Fence] puts text of any length between two marks it cannot contain;
//   - [Name], [Task] and [Principal] let short words of a checked alphabet stand
//     outside of a fence, and replace everything else.
package untrusted

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"githandoff/internal/handoff"
)

// Line escapes control and invisible characters as Go does in a string literal.
func Line(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // most texts are printable ASCII
	}
	var b strings.Builder
	for _, r := range s {
		if r >= ' ' && r <= '~' { // the common case
			b.WriteByte(byte(r))
			continue
		}
		if r == unicode.ReplacementChar || !strconv.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// MaxOutside is the longest text of a sender outside of a fence, in bytes.
const MaxOutside = 64

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

	noName = "(no name)" // stands for an invalid name
	aText  = "(a text)"  // stands for prose
)

// outside reports whether s is one short word of these characters.
func outside(s, characters string) bool {
	return s != "" && len(s) <= MaxOutside && strings.Trim(s, characters) == ""
}

// IsTask reports whether a task is a key, such as LIN-423, org/repo#7 or v1.2+rc.
func IsTask(s string) bool { return outside(s, letters+"._-/#+") }

// Task returns a task as it stands outside of a fence: the key itself, or "(a text)".
func Task(s string) string {
	if s == "" || IsTask(s) {
		return s
	}
	return aText
}

// Name returns the name of an agent or a person, or "(no name)".
func Name(s string) string {
	if handoff.CheckAgent(s) == nil || isMail(s) || s == "_" {
		return s
	}
	return noName
}

// Owner returns the user id of a key, as far as it is a name or a mail address: what githandoff
// gives to the keys that it makes. Anything else is "(a text)".
func Owner(userID string) string {
	name, mail, _ := strings.Cut(strings.TrimSuffix(userID, ">"), "<")
	if isMail(userID) || isMail(mail) && (name == "" || handoff.CheckAgent(strings.TrimSuffix(name, " ")) == nil) {
		return userID
	}
	return aText
}

// Word returns a name that others chose, such as that of a skill: one short word of visible letters,
// digits and a few marks, or "(a text)".
func Word(s string) string {
	if s == "" || len(s) <= MaxOutside && Line(s) == s && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/#+@:*", r)
	}) {
		return s
	}
	return aText
}

// Words returns the words of a list, each by [Word], with commas between them.
func Words(list []string) string {
	shown := make([]string, len(list))
	for i, s := range list {
		shown[i] = Word(s)
	}
	return strings.Join(shown, ", ")
}

// Place returns the id of a repository that a record names, or "(a text)" for one with blanks,
// quotes or of more than 128 bytes. Most ids are longer than a word.
func Place(id string) string {
	const longest = 128
	if len(id) > longest || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`,"\`, r) }) {
		return aText
	}
	return id
}

// Ref returns the name of a ref, each component by [Word].
func Ref(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = Word(part)
	}
	return strings.Join(parts, "/")
}

func isMail(s string) bool {
	user, host, ok := strings.Cut(s, "@")
	return ok && len(s) <= MaxOutside && outside(user, letters+"._%+-") && outside(host, letters+".-") && strings.ContainsAny(host[:1], letters)
}

// Principal returns "user:MAIL", followed by "(declared)" or "(token)" if s has it; "" if MAIL is
// not a mail address. Nobody checked a declared principal.
func Principal(s string) string {
	who, mark, marked := strings.Cut(s, " ")
	mail, ok := strings.CutPrefix(who, "user:")
	if !ok || !isMail(mail) || marked && mark != "(declared)" && mark != "(token)" {
		return ""
	}
	return s
}

// IsWord reports whether s is one short word of plain characters.
func IsWord(s string) bool { return outside(s, letters+"._-/#+@:") }

// isClientTag reports whether the "<" between two texts begins a tag such as </system-reminder> or
// <hook_prompt id="1">, in which clients put their own words to a model. Each client has dozens of them, and
// nearly all have a hyphen or an underscore in the name, which few tags in code have. "a < max_size",
// "vector<size_t>" and "#include <my_types.h>" are none. A closing tag is one after any text, and may have space
// around its slash; a no-break space is one, too.
func isClientTag(before, after string) bool {
	tag, closing := strings.CutPrefix(strings.TrimLeftFunc(after, unicode.IsSpace), "/")
	switch {
	case closing:
		tag = strings.TrimLeftFunc(tag, unicode.IsSpace)
	case before != "" && strings.Contains(letters+"_", before[len(before)-1:]):
		return false
	default:
		tag = after
	}
	rest := strings.TrimLeft(tag, letters+"-_")
	name := tag[:len(tag)-len(rest)]
	end, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, "/") + ">")
	return name != "" && strings.Contains(letters, name[:1]) && strings.ContainsAny(name, "-_") && (end == '>' || unicode.IsSpace(end))
}

// Fence puts text between two lines with a random mark, which the text cannot contain, and escapes
// tags like those of clients in it. The label says who wrote it.
func Fence(random io.Reader, body, label string) ([]byte, error) {
	var raw [8]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return nil, err
	}
	mark := hex.EncodeToString(raw[:])
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	// Lines stay lines, whatever ends them; other control characters are replaced.
	body = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return '\uFFFD'
		}
		return r
	}, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body))
	// A text neither opens nor closes a tag of a client.
	parts := strings.Split(body, "<")
	for i, after := range parts[1:] {
		begin := "<"
		if isClientTag(parts[i], after) {
			begin = "&lt;"
		}
		parts[i+1] = begin + after
	}
	return fmt.Appendf(nil, "----- begin %s: data %s -----\n%s----- end %s -----\n", mark, label, strings.Join(parts, ""), mark), nil
}

// Quote returns a sender's text in a list for people only: its first line, escaped, of MaxOutside
// bytes at most, between quotation marks. Output for an agent never has it: there it belongs
// into a fence.
func Quote(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	var b strings.Builder
	for _, r := range line {
		c := Line(string(r))
		if r == '"' {
			c = "'" // so that the text cannot close its quotation
		}
		if b.Len()+len(c) > MaxOutside-len(`"…"`) {
			more = true
			break
		}
		b.WriteString(c)
	}
	if more {
		return `"` + b.String() + `…"`
	}
	return `"` + b.String() + `"`
}
