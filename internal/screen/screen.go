package screen

import (
	"encoding/json"
	"iter"

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
