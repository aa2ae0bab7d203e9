package screen

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Envelope screens every string of e, the keys of its objects included, and
// returns the first finding in the order of handoff.Envelope.Strings.
func Envelope(e *handoff.Envelope) error {
	if err := each(handoff.Strings(e)); err != nil {
		return err
	}
	if e.Origin == nil || len(e.Origin.Extra) == 0 {
		return nil
	}
	// Messages may also stand there as objects rather than as text.
	raw, err := json.Marshal(e.Origin.Extra)
	if err != nil {
		return fault.New(fault.Invalid, fault.Malformed, "origin.extra: %w", err)
	}
	if chatMessages(string(raw)) {
		return transcript("origin.extra", "chat-messages")
	}
	return nil
}

// Map screens keys and values. Messages name the values member.key.
func Map(member string, m map[string]string) error {
	return each(handoff.Strings(map[string]map[string]string{member: m}))
}

// Text screens one text.
func Text(member, s string) error {
	var talk conversation
	return text(member, "", s, &talk)
}

func each(all iter.Seq2[handoff.Member, string]) error {
	var talk conversation
	top := ""
	for at, s := range all {
		if at.Top() != top {
			top, talk = at.Top(), conversation{}
		}
		if err := text(at, at.Name(), s, &talk); err != nil {
			return err
		}
	}
	return nil
}

// text screens s, which stands at member under a name ("" if it has none), as
// the continuation of the given conversation.
func text[M any](member M, name, s string, talk *conversation) error {
	if what := hidden(s); what != "" {
		return fault.New(fault.Invalid, fault.Malformed, "%v: %s", member, what).
			WithHints(fault.Hint{Why: "delete the character at that place of the text; readers cannot see it, and programs read it"})
	}
	if rule := secret(name, s); rule != "" {
		return fault.New(fault.Policy, fault.SecretFound, "%v: looks like a secret (rule %s)", member, rule).
			WithHints(fault.Fact("take it out, and say where it is kept instead; if it is real, revoke it"))
	}
	switch {
	case talk.hear(s):
		return transcript(member, "role-markers")
	case chatMessages(s):
		return transcript(member, "chat-messages")
	case chatTemplate(s):
		return transcript(member, "chat-template")
	}
	return nil
}

func transcript(member any, rule string) error {
	return fault.New(fault.Policy, fault.TranscriptFound, "%v: holds a raw conversation (rule %s)", member, rule).
		WithHints(fault.Fact("write down what was found and decided, not who said what"))
}

const (
	nonJoiner  = '\u200c'
	joiner     = '\u200d'
	textStyle  = '\ufe0e'
	emojiStyle = '\ufe0f'
)

// hidden names the first character of s unfit to be shown, and its place; "" if there is none.
func hidden(s string) string {
	var before, last rune // the two runes before r
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			return "not valid UTF-8 at " + place(s[:i])
		case unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r':
			return fmt.Sprintf("control character %U at %s", r, place(s[:i]))
		case r > unicode.MaxASCII && invisible(r) && !honest(before, last, r, s[i+utf8.RuneLen(r):]):
			return fmt.Sprintf("bidirectional or invisible character %U%s at %s", r, called(r), place(s[:i]))
		}
		before, last = last, r
	}
	return ""
}

// place returns where the text after before begins, as editors count: nobody can see
// the character, so its place has to be told.
func place(before string) string {
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// called returns the name of the invisible characters left in copied text by word processors,
// browsers and terminals.
func called(r rune) string {
	switch r {
	case '\u00ad':
		return " (soft hyphen)"
	case '\u200b':
		return " (zero-width space)"
	case nonJoiner:
		return " (zero-width non-joiner)"
	case joiner:
		return " (zero-width joiner)"
	case '\u2028':
		return " (line separator)"
	case '\u2029':
		return " (paragraph separator)"
	case '\u2060':
		return " (word joiner)"
	case '\ufeff':
		return " (byte order mark)"
	}
	return ""
}

// invisible is Default_Ignorable_Code_Point as Unicode derives it (DerivedCoreProperties.txt),
// without the exception for annotation and hieroglyphs, and with the separators some programs,
// and not others, take for line breaks.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zl, unicode.Zp) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// honest reports whether the invisible r has its ordinary use between the two
// runes before it and the text after it.
func honest(before, last, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case textStyle, emojiStyle:
		return symbol(last)
	case joiner:
		if emoji(next) && (emoji(last) || last == emojiStyle && symbol(before)) {
			return true
		}
		return joins(last) && joins(next)
	case nonJoiner:
		return joins(last) && joins(next)
	}
	return false
}

// symbol reports whether r may be given a style: Unicode's emoji-variation-sequences.txt has a
// sequence beginning with it.
func symbol(r rune) bool {
	return unicode.IsSymbol(r) || strings.ContainsRune("#*0123456789‼⁉ℹ〰", r)
}

func emoji(r rune) bool {
	return r >= 0x2000 && r != utf8.RuneError && unicode.In(r, unicode.So, unicode.Sk, unicode.Sm)
}

// joins reports whether r belongs to a script in which the joiners are
// part of the spelling.
func joins(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M) &&
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
			unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala)
}
