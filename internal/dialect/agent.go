package dialect

import (
	"strings"

	"githandoff/internal/handoff"
)

// agent is an optional agent's name. Other systems allow more than we do: where
// lower case and dashes make a name of it, that is taken, with a warning.
func (o object) agent(member string) string {
	return o.agentName(member, o.text(member, 0))
}

// requiredAgent is an agent's name that must be there.
func (o object) requiredAgent(member string) string {
	return o.agentName(member, o.required(member, 0))
}

func (o object) agentName(member, s string) string {
	if s == "" || handoff.CheckAgent(s) == nil {
		return s
	}
	name := strings.Map(lowerASCII, strings.Join(strings.Fields(s), "-"))
	if handoff.CheckAgent(name) != nil {
		o.refuse(member, "malformed", "%w", handoff.CheckAgent(s))
		return ""
	}
	o.warn(member, "%.64q is taken as %q", s, name)
	return name
}

// lowerASCII leaves other letters alone, for some of them (U+212A) turn into
// ASCII ones.
func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// pointerTo is the form of a target's agent: nil means that a decision is due.
func pointerTo(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}
