package dialect

import (
	"maps"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// SentBy sets the sender of the handoff made of a document. If the document names another
// agent as its writer, origin.extra keeps the name.
func SentBy(e *handoff.Envelope, agent string) {
	wrote := e.Source.Agent
	e.Source.Agent = agent
	if e.Origin == nil || wrote == "" || wrote == agent {
		return
	}
	c, err := codecOf(e.Origin.Format)
	if err != nil || c.wrote == "" || e.Origin.Extra[c.wrote] != nil {
		return
	}
	extra := map[string]any{}
	maps.Copy(extra, e.Origin.Extra)
	extra[c.wrote] = wrote
	e.Origin = &handoff.Origin{Format: e.Origin.Format, Extra: extra}
}

// sourceAgent returns the writer of the document. The sender is not for the document to choose, so
// an invalid name does no harm: origin.extra keeps it.
func (o object) sourceAgent(member, s string) string {
	name := o.agentName(member, s)
	if name == "" && !blank(s) {
		o.warn(member, "%.64q is not the name of an agent here", s)
	}
	return name
}

// targetAgent returns who shall go on. Where a name is none to us nobody is chosen.
func (o object) targetAgent(member, s string) *string {
	if isNobody(s) {
		o.warn(member, "%.64q is not an agent: somebody has to decide who takes it", s)
		return nil
	}
	name := o.agentName(member, s)
	if name != "" {
		return &name
	}
	if !blank(s) {
		o.warn(member, "%.64q is not the name of an agent here; name the receiver with --to", s)
	}
	return nil
}

// isNobody knows the words that agents write in the place of null.
func isNobody(s string) bool {
	return slices.Contains([]string{"none", "null"}, strings.ToLower(strings.TrimSpace(s)))
}

// onFailure returns the agent failed work goes back to. An invalid name is refused: otherwise
// nobody would get the work, and nobody would notice.
func (o object) onFailure() string {
	const member = "on_failure"
	s := o.text(member, 0)
	if isNobody(s) {
		o.warn(member, "%.64q is not an agent", s)
		return ""
	}
	name := o.agentName(member, s)
	if name == "" && s != "" {
		o.refuse(member, fault.Malformed, "%w", handoff.CheckAgent(s))
	}
	return name
}

// agentName returns "" for a text other than an agent's name. Other systems allow more than we
// do: if lower case and dashes make the text a name, it is taken, with a warning.
func (o object) agentName(member, s string) string {
	if s == "" || handoff.CheckAgent(s) == nil {
		return s
	}
	name := strings.Map(lowerASCII, strings.Join(strings.Fields(s), "-"))
	if handoff.CheckAgent(name) != nil {
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
