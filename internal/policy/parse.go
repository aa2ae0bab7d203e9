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
	p := &Policy{}
	if n := doc.Content[0]; n.ShortTag() != "!!null" {
		return p, members(n, "the policy", map[string]func(*yaml.Node) error{
			"agents": p.readAgents,
			"routes": p.readRoutes,
		})
	}
	return p, nil
}

// oneLine drops the name of the library and everything after the first line.
func oneLine(err error) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	return errors.New(text)
}

// plain refuses everything by which one place of a document can change what
// another one means.
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

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// pairs calls visit for each member of a mapping; none may be there twice.
func pairs(n *yaml.Node, what string, visit func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s must be a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return at(key, "a key of %s is not a word", what)
		}
		if seen[key.Value] {
			return at(key, "member %q of %s is given twice", clip(key.Value), what)
		}
		seen[key.Value] = true
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

// members hands each member of a mapping to its reader.
func members(n *yaml.Node, what string, readers map[string]func(*yaml.Node) error) error {
	return pairs(n, what, func(key, value *yaml.Node) error {
		read := readers[key.Value]
		if read == nil {
			return at(key, "unknown member %q of %s", clip(key.Value), what)
		}
		return read(value)
	})
}

func (p *Policy) readAgents(n *yaml.Node) error {
	p.Agents = map[string]Agent{}
	return pairs(n, "agents", func(key, value *yaml.Node) error {
		if err := agentName(key); err != nil {
			return err
		}
		a := Agent{}
		err := members(value, "agent "+key.Value, map[string]func(*yaml.Node) error{
			"accepts":  list(&a.Accepts),
			"produces": list(&a.Produces),
			"skills":   list(&a.Skills),
		})
		p.Agents[key.Value] = a
		return err
	})
}

func (p *Policy) readRoutes(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return at(n, "routes must be a list")
	}
	seen := map[[2]string]bool{}
	for _, item := range n.Content {
		r := Route{}
		err := members(item, "a route", map[string]func(*yaml.Node) error{
			"agent": func(n *yaml.Node) error {
				r.Agent = n.Value
				if n.Value == anything {
					return word(n)
				}
				return agentName(n)
			},
			"reason": func(n *yaml.Node) error { r.Reason = n.Value; return word(n) },
			"to": func(n *yaml.Node) error {
				r.To = n.Value
				if n.Value == Human {
					return word(n)
				}
				return agentName(n)
			},
			"clarify": func(n *yaml.Node) error {
				if n.ShortTag() != "!!bool" {
					return at(n, "clarify must be true or false")
				}
				return n.Decode(&r.Clarify)
			},
		})
		switch key := [2]string{r.Agent, r.Reason}; {
		case err != nil:
			return err
		case r.Agent == "" || r.Reason == "" || r.To == "":
			return at(item, "a route needs agent, reason and to")
		case r.Clarify && r.To == Human:
			return at(item, "clarify goes with an agent, not with %s", Human)
		case seen[key]:
			return at(item, "a second route for agent %s and reason %q", r.Agent, clip(r.Reason))
		default:
			seen[key] = true
		}
		p.Routes = append(p.Routes, r)
	}
	return nil
}

func agentName(n *yaml.Node) error {
	if err := word(n); err != nil {
		return err
	}
	if n.Value == Human {
		return at(n, "%q is not an agent: it stands for a person", Human)
	}
	if err := handoff.CheckAgent(n.Value); err != nil {
		return at(n, "%v", err)
	}
	return nil
}

// list reads words. An empty list stays one: it is not the same as none.
func list(to *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.SequenceNode {
			return at(n, "want a list of words")
		}
		*to = []string{}
		for _, item := range n.Content {
			if err := word(item); err != nil {
				return err
			}
			*to = append(*to, item.Value)
		}
		return nil
	}
}

const maxWord = 128 // bytes

func word(n *yaml.Node) error {
	switch s := n.Value; {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		return at(n, "want a word")
	case s == "" || len(s) > maxWord:
		return at(n, "want a word of 1 to %d characters", maxWord)
	case s != strings.TrimSpace(s) || strings.ContainsFunc(s, odd) || strings.Contains(s, "://"):
		return at(n, "%q is not a word of printable ASCII without commas and quotation marks", clip(s))
	}
	return nil
}

func odd(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(",\"'`\\", r) }

func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
