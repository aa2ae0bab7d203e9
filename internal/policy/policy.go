package policy

import (
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	// Name is the path of the policy in a commit.
	Name = ".githandoff.yaml"
	// MaxSize is the size limit of a policy, in bytes.
	MaxSize = 65536
	// Human is the target of a route on which a person decides.
	Human = "human"

	anything = "*"
)

// Policy is the policy of a team. A nil one, for a repository without the file, has no rules.
type Policy struct {
	Agents map[string]Agent `yaml:"agents"`
	Routes []Route          `yaml:"routes"`
}

// Agent says what an agent does. Nil Accepts or Produces say nothing.
type Agent struct {
	Accepts  []string
	Produces []string
	Skills   []string
}

// Route says who goes on when an agent is blocked for a reason.
type Route struct {
	Agent   string // agent name, or "*" for any
	Reason  string // reason, or "*" for any
	To      string // agent name, or Human
	Clarify bool
}

// Route returns the most specific route for a blocked agent. It leads to Human if none
// matches, or if the route says so.
func (p *Policy) Route(agent, reason string) Route {
	human := Route{Agent: agent, Reason: reason, To: Human}
	if p == nil {
		return human
	}
	for _, want := range [][2]string{{agent, reason}, {agent, anything}, {anything, reason}, {anything, anything}} {
		for _, r := range p.Routes {
			if r.Agent == want[0] && r.Reason == want[1] {
				return r
			}
		}
	}
	return human
}

// CheckRequest refuses a kind of work the sender does not make or the receiver does not take,
// as far as they are listed; an empty receiver is nobody yet. Refusals have code fault.Policy
// and reason "capability".
func (p *Policy) CheckRequest(from, to, request string) error {
	if p == nil || request == "" {
		return nil
	}
	if a, ok := p.Agents[from]; ok && a.Produces != nil && !slices.Contains(a.Produces, request) {
		return capability("%s does not produce %q", from, request).
			WithHints(fault.Fact("the policy lets it hand over %s", words(a.Produces)))
	}
	if a, ok := p.Agents[to]; ok && a.Accepts != nil && !slices.Contains(a.Accepts, request) {
		return capability("%s does not accept %q", to, request).
			WithHints(fault.Fact("the policy lets it take %s", words(a.Accepts)))
	}
	return nil
}

func capability(format string, args ...any) *fault.Error {
	return fault.New(fault.Policy, fault.Capability, format, args...)
}

func words(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// Skills compares the invoked skills of a handoff with the mandatory ones: by the policy for
// its source agent, and by the skills expected of it.
func (p *Policy) Skills(env *handoff.Envelope, expected []string) SkillReport {
	var s SkillReport
	if p != nil {
		s.Mandatory = slices.Clone(p.Agents[env.Source.Agent].Skills)
	}
	s.Mandatory = append(s.Mandatory, expected...)
	slices.Sort(s.Mandatory)
	s.Mandatory = slices.Compact(s.Mandatory)
	if env.Skills != nil {
		s.Invoked = env.Skills.Invoked
	}
	for _, skill := range s.Mandatory {
		if !slices.Contains(s.Invoked, skill) {
			s.Missing = append(s.Missing, skill)
		}
	}
	return s
}

// SkillReport is the account of one handoff. Mandatory and Missing are sorted.
type SkillReport struct {
	Mandatory, Invoked, Missing []string
}
