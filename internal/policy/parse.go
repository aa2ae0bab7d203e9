package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Parse reads a policy. Refusals have code fault.Invalid and reason
// "invalid_policy", or "too_large".
func Parse(b []byte) (*Policy, error) {
	if len(b) > MaxSize {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "%s has %d bytes, limit %d", Name, len(b), MaxSize)
	}
	p, err := parse(b)
	if err != nil {
		return nil, fault.New(fault.Invalid, fault.InvalidPolicy, "%s: %w", Name, err).
			WithHints(fault.Fact("docs/policy.md describes the members"))
	}
	return p, nil
}

func parse(b []byte) (*Policy, error) {
	if !utf8.Valid(b) {
		return nil, errors.New("not valid UTF-8")
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &Policy{}, nil
	case err != nil:
		return nil, oneLine(err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	if err := plain(&doc); err != nil {
		return nil, err
	}
	p, root := &Policy{}, doc.Content[0]
	if root.ShortTag() == "!!null" {
		return p, nil
	}
	dec = yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(p); err != nil {
		return nil, oneLine(err)
	}
	if err := typed(root, ""); err != nil {
		return nil, err
	}
	return p, p.check(root)
}

// oneLine returns the first cause that the library names, in terms of the format.
func oneLine(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if mistyped, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = mistyped.Errors[0]
	}
	text = strings.ReplaceAll(text, "type policy.", "policy.")
	text = strings.NewReplacer(
		"cannot unmarshal", "cannot read", "into bool", "into true or false", "into string", "into a word",
		"[]string", "a list of words", "map[string]policy.Agent", "agents", "[]policy.Route", "a list of routes",
		"policy.Policy", "the policy", "policy.Agent", "an agent", "policy.Route", "a route",
	).Replace(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return errors.New(handoff.Clip(text, 2*maxWord))
}

// plain refuses constructs by which one place of a document changes the meaning of another.
func plain(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		return at(n, "anchors and aliases are not allowed")
	case n.Style&yaml.TaggedStyle != 0:
		return at(n, "tags are not allowed")
	case n.ShortTag() == "!!merge":
		return at(n, "merge keys are not allowed")
	}
	for _, c := range n.Content {
		if err := plain(c); err != nil {
			return err
		}
	}
	return nil
}

// typed refuses all values except words, and true and false for "clarify". The library would accept
// a number for a word, "on" for true, and null for any type.
func typed(n *yaml.Node, name string) error {
	switch {
	case n.Kind == yaml.ScalarNode && name == "clarify":
		if n.ShortTag() != "!!bool" {
			return at(n, "clarify must be true or false")
		}
		return nil
	case n.Kind == yaml.ScalarNode:
		return word(n)
	}
	for i, c := range n.Content {
		name := ""
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			name = n.Content[i-1].Value
		}
		if err := typed(c, name); err != nil {
			return err
		}
	}
	return nil
}

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// check refuses a well-formed policy with a rule that nobody could follow.
func (p *Policy) check(root *yaml.Node) error {
	if agents := member(root, "agents"); agents != nil {
		for i := 0; i < len(agents.Content); i += 2 {
			if err := agentName(agents.Content[i]); err != nil {
				return err
			}
		}
	}
	seen := map[[2]string]bool{}
	for i, r := range p.Routes {
		n := member(root, "routes").Content[i]
		switch key := [2]string{r.Agent, r.Reason}; {
		case r.Agent == "" || r.Reason == "" || r.To == "":
			return at(n, "a route needs agent, reason and to")
		case r.Clarify && r.To == Human:
			return at(n, "clarify goes with an agent, not with %s", Human)
		case seen[key]:
			return at(n, "a second route for agent %s and reason %q", r.Agent, r.Reason)
		default:
			seen[key] = true
		}
		if r.Agent != anything {
			if err := agentName(member(n, "agent")); err != nil {
				return err
			}
		}
		if r.To != Human {
			if err := agentName(member(n, "to")); err != nil {
				return err
			}
		}
	}
	return nil
}

// member returns the value of a member of a mapping; nil if the mapping has none.
func member(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func agentName(n *yaml.Node) error {
	if n.Value == Human {
		return at(n, "%q is not an agent: it stands for a person", Human)
	}
	if err := handoff.CheckAgent(n.Value); err != nil {
		return at(n, "%v", err)
	}
	return nil
}

const maxWord = 128 // length in bytes

func word(n *yaml.Node) error {
	switch s := n.Value; {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		return at(n, "want a word")
	case s == "" || len(s) > maxWord:
		return at(n, "want a word of 1 to %d characters", maxWord)
	case s != strings.TrimSpace(s) || strings.ContainsFunc(s, odd) || strings.Contains(s, "://"):
		return at(n, "%q is not a word of printable ASCII without commas and quotation marks", handoff.Clip(s, 64))
	}
	return nil
}

func odd(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(",\"'`\\", r) }
