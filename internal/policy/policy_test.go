package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/policy"
)

func team(t testing.TB) *policy.Policy {
	t.Helper()
	b, err := os.ReadFile("testdata/team.yaml")
	require.NoError(t, err)
	p, err := policy.Parse(b)
	require.NoError(t, err)
	return p
}

// The table has the routing table, row by row, and cases that it does not cover.
func TestRoute(t *testing.T) {
	p := team(t)
	for _, tc := range []struct {
		agent, reason, to string
		clarify           bool
	}{
		{"integration-developer", "security_concern", "backend-security", false},
		{"integration-developer", "architecture_decision", "integration-lead", false},
		{"integration-developer", "test_failures", "backend-tester", false},
		{"integration-developer", "missing_requirements", policy.Human, false},
		{"backend-tester", "missing_test_plan", "test-lead", false},
		{"backend-reviewer", "implementation_unclear", "integration-developer", true},
		{"backend-security", "architecture_change_needed", "integration-lead", false},
		{"anybody", "unknown", policy.Human, false},
		{"integration-lead", "missing_requirements", policy.Human, false},
		{"integration-developer", "Security_Concern", policy.Human, false},
	} {
		r := p.Route(tc.agent, tc.reason)
		assert.Equal(t, tc.to, r.To, "%s %s", tc.agent, tc.reason)
		assert.Equal(t, tc.clarify, r.Clarify, "%s %s", tc.agent, tc.reason)
	}
	var none *policy.Policy
	assert.Equal(t, policy.Human, none.Route("fixer", "unknown").To)
}

// The most specific route counts, wherever it is in the file.
func TestRouteMostSpecific(t *testing.T) {
	p, err := policy.Parse([]byte(`routes:
  - {agent: "*", reason: "*", to: anybody}
  - {agent: "*", reason: tests, to: tester}
  - {agent: fixer, reason: "*", to: lead}
  - {agent: fixer, reason: tests, to: human}
`))
	require.NoError(t, err)
	assert.Equal(t, "human", p.Route("fixer", "tests").To)
	assert.Equal(t, "lead", p.Route("fixer", "other").To)
	assert.Equal(t, "tester", p.Route("reviewer", "tests").To)
	assert.Equal(t, "anybody", p.Route("reviewer", "other").To)
}

func TestCheckRequest(t *testing.T) {
	p, err := policy.Parse([]byte(`agents:
  architect: {accepts: [design_request, review], produces: [specification, decision]}
  auto-code: {accepts: [specification, bug_report], produces: [code, tests]}
  mute: {accepts: [], produces: []}
  free: {}
`))
	require.NoError(t, err)
	for _, tc := range []struct{ from, to, request, refused string }{
		{"architect", "auto-code", "specification", ""},
		{"architect", "auto-code", "", ""},
		{"architect", "auto-code", "decision", `auto-code does not accept "decision"`},
		{"architect", "auto-code", "code", `architect does not produce "code"`},
		{"architect", "stranger", "decision", ""},
		{"architect", "", "decision", ""},
		{"stranger", "auto-code", "bug_report", ""},
		{"stranger", "auto-code", "code", `auto-code does not accept "code"`},
		{"free", "auto-code", "specification", ""},
		{"architect", "free", "decision", ""},
		{"mute", "free", "code", `mute does not produce "code"`},
		{"free", "mute", "code", `mute does not accept "code"`},
	} {
		err := p.CheckRequest(tc.from, tc.to, tc.request)
		if tc.refused == "" {
			assert.NoError(t, err, tc)
			continue
		}
		require.EqualError(t, err, tc.refused)
		assert.True(t, fault.Is(err, "capability"))
		assert.Equal(t, fault.Policy, fault.CodeOf(err))
	}
	var none *policy.Policy
	assert.NoError(t, none.CheckRequest("a", "b", "c"))
}

func TestSkills(t *testing.T) {
	p := team(t)
	env := &handoff.Envelope{
		Source: handoff.Source{Agent: "integration-developer"},
		Skills: &handoff.Skills{Invoked: []string{"persisting-agent-outputs", "gateway-integrations"}},
	}
	expected := []string{"semantic-code-operations", "gateway-integrations"}
	s := p.Skills(env, expected)
	assert.Equal(t, []string{"gateway-integrations", "persisting-agent-outputs", "semantic-code-operations", "verifying-before-completion"}, s.Mandatory)
	assert.Equal(t, env.Skills.Invoked, s.Invoked)
	assert.Equal(t, []string{"semantic-code-operations", "verifying-before-completion"}, s.Missing)

	var none *policy.Policy
	assert.Equal(t, []string{"semantic-code-operations"}, none.Skills(env, expected).Missing, "without a policy something is still expected")
	assert.Empty(t, p.Skills(&handoff.Envelope{Source: handoff.Source{Agent: "stranger"}}, nil).Mandatory)
	assert.Equal(t, []string{"gateway-integrations", "persisting-agent-outputs", "verifying-before-completion"}, team(t).Skills(&handoff.Envelope{Source: env.Source}, nil).Missing, "nothing was changed")
}

func TestParseNothing(t *testing.T) {
	for _, s := range []string{"", "# later\n", "---\n", "null\n", "agents: {}\nroutes: []\n"} {
		p, err := policy.Parse([]byte(s))
		require.NoError(t, err, s)
		assert.Equal(t, policy.Human, p.Route("a", "b").To)
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"agents: {fixer: {accept: [x]}}": `line 1: field accept not found in an agent`,
		"version: 1":                     `line 1: field version not found in the policy`,
		"routes:\n- {agent: a, reason: b, to: c, run: make}":                      `line 2: field run not found in a route`,
		"routes:\n- {agent: a, reason: b}":                                        `line 2: a route needs agent, reason and to`,
		"routes:\n- {agent: a, reason: b, to: https://x.test/}":                   `line 2: "https://x.test/" is not a word`,
		"routes:\n- {agent: a, reason: b, to: _}":                                 `line 2: `,
		"routes:\n- {agent: human, reason: b, to: c}":                             `line 2: "human" is not an agent`,
		"routes:\n- {agent: a, reason: b, to: human, clarify: on}":                `line 2: clarify must be true or false`,
		"routes:\n- {agent: a, reason: b, to: human, clarify: true}":              `line 2: clarify goes with an agent`,
		"routes:\n- {agent: a, reason: b, to: c}\n- {agent: a, reason: b, to: d}": `line 3: a second route for agent a and reason "b"`,
		"routes: {agent: a}":                        `line 1: cannot read !!map into a list of routes`,
		"routes: [x]":                               "line 1: cannot read !!str `x` into a route",
		"agents: [fixer]":                           `line 1: cannot read !!seq into agents`,
		"agents: {human: {}}":                       `line 1: "human" is not an agent`,
		"agents: {Fixer: {}}":                       `line 1: agent "Fixer"`,
		"agents: {a..b: {}}":                        `line 1: agent "a..b"`,
		"agents: {fixer: {skills: x}}":              "line 1: cannot read !!str `x` into a list of words",
		"agents: {fixer: {skills: [1]}}":            `line 1: want a word`,
		"agents: {fixer: {skills: [[x]]}}":          `line 1: cannot read !!seq into a word`,
		"agents: {fixer: {skills: [null]}}":         `line 1: want a word`,
		"agents: {fixer: {skills: ['']}}":           `line 1: want a word of 1 to 128 characters`,
		"agents: {fixer: {skills: ['a,b']}}":        `line 1: "a,b" is not a word`,
		"agents: {fixer: {skills: ['é']}}":          `line 1: "é" is not a word`,
		"agents: {fixer: {skills: [' a']}}":         `line 1: " a" is not a word`,
		"agents: {fixer: {}, fixer: {}}":            `line 1: mapping key "fixer" already defined at line 1`,
		"agents: {fixer: {skills: [], skills: []}}": `line 1: mapping key "skills" already defined at line 1`,
		"agents: &a {fixer: {}}":                    `line 1: anchors and aliases are not allowed`,
		"agents:\n  fixer: &a {}\n  other: *a":      `line 2: anchors and aliases are not allowed`,
		"agents: !!map {}":                          `line 1: tags are not allowed`,
		"agents: !exec {}":                          `line 1: tags are not allowed`,
		"agents: {fixer: {<<: {skills: [x]}}}":      `line 1: merge keys are not allowed`,
		"{? [a] : b}":                               `line 1: cannot read !!seq into a word`,
		// The library accepts these, or drops parts of them without an error.
		"routes:\n- {agent: a, reason: b, to: c,\n   clarify: on}":    `line 3: clarify must be true or false`,
		"routes:\n- {agent: a, reason: b, to: c, clarify: null}":      `line 2: clarify must be true or false`,
		"routes:\n- {agent: a, reason: b, to: c, clarify: !!bool on}": `line 2: tags are not allowed`,
		"routes:\n- {agent: a, reason: b, to: c, clarify: 7}":         "line 2: cannot read !!int `7` into true or false",
		"routes:\n- agent: a\n  reason: b\n  to: C":                   `line 4: agent "C"`,
		"routes:\n- agent: A\n  reason: b\n  to: c":                   `line 2: agent "A"`,
		"routes:\n- agent: a\n  reason: 7\n  to: c":                   `line 3: want a word`,
		"routes:\n- agent: a\n  reason: b\n  to: true":                `line 4: want a word`,
		"routes: null":                       `line 1: want a word`,
		"routes: [null]":                     `line 1: want a word`,
		"agents:\n":                          `line 1: want a word`,
		"agents: {fixer: null}":              `line 1: want a word`,
		"agents: {fixer: {skills: true}}":    "line 1: cannot read !!bool `true` into a list of words",
		"agents: {clarify: true}":            "line 1: cannot read !!bool `true` into an agent",
		"agents: {fixer: {skills: {a: b}}}":  `line 1: cannot read !!map into a list of words`,
		"Agents: {}":                         `line 1: field Agents not found in the policy`,
		`{"a\e[0m\nb": []}`:                  `line 1: field a?[0m?b not found in the policy`,
		"routes: []\nroutes: []":             `line 2: mapping key "routes" already defined at line 1`,
		"agents:\n  b: {}\n  a: {}\n  b: {}": `line 4: mapping key "b" already defined at line 2`,
		"&a null":                            `line 1: anchors and aliases are not allowed`,
		"!!null ''":                          `line 1: tags are not allowed`,
		"''":                                 `line 1: cannot read !!str `,
		"routes: []\n---\nroutes: []":        `more than one document`,
		"routes: [":                          `line 1: `,
		"- a":                                `line 1: cannot read !!seq into the policy`,
		"a\xff: b":                           `not valid UTF-8`,
	} {
		_, err := policy.Parse([]byte(in))
		require.Error(t, err, in)
		assert.True(t, strings.HasPrefix(err.Error(), policy.Name+": "+want), "%s\n got %s\nwant %s", in, err, want)
		assert.NotContains(t, err.Error(), "\n")
		assert.True(t, fault.Is(err, "invalid_policy"), in)
		assert.Equal(t, fault.Invalid, fault.CodeOf(err))
	}
	_, err := policy.Parse([]byte(strings.Repeat("k", 1000) + ": x"))
	assert.Less(t, len(err.Error()), 300, "a long name is cut")
	_, err = policy.Parse([]byte(strings.Repeat("#", policy.MaxSize+1)))
	assert.True(t, fault.Is(err, "too_large"))
	_, err = policy.Parse([]byte(strings.Repeat("#", policy.MaxSize)))
	assert.NoError(t, err)
}

// Every accepted file obeys the rules of the format.
func FuzzParse(f *testing.F) {
	team, err := os.ReadFile("testdata/team.yaml")
	require.NoError(f, err)
	for _, s := range []string{
		string(team), "", "routes:\n- {agent: a, reason: b, to: human}", "agents: {a: {skills: [x y]}}", "a: &b [*b]", "{? {} : x}", "--- !!str x\n...\n%YAML", "agents: {a: {skills: [\"\\u0041\"]}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := policy.Parse(b)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || fault.CodeOf(err) != fault.Invalid {
				t.Fatalf("%q: %v", b, err)
			}
			return
		}
		for name, a := range p.Agents {
			if handoff.CheckAgent(name) != nil || name == policy.Human {
				t.Fatalf("agent %q", name)
			}
			for _, w := range append(append(a.Accepts, a.Produces...), a.Skills...) {
				if w == "" || len(w) > 128 || strings.ContainsAny(w, ",\n\"") {
					t.Fatalf("word %q", w)
				}
			}
		}
		for _, r := range p.Routes {
			if p.Route(r.Agent, r.Reason) != r {
				t.Fatalf("route %+v is not found", r)
			}
			if r.To != policy.Human && handoff.CheckAgent(r.To) != nil {
				t.Fatalf("to %q", r.To)
			}
		}
	})
}

// The worked example of the documentation is the file that these tests use.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/policy.md")
	require.NoError(t, err)
	file, err := os.ReadFile("testdata/team.yaml")
	require.NoError(t, err)
	_, routes, ok := strings.Cut(string(file), "\nroutes:\n")
	require.True(t, ok)
	assert.Contains(t, string(doc), "```yaml\nroutes:\n"+routes+"```\n")
	n := 0
	for part := range strings.SplitSeq(string(doc), "```yaml\n") {
		if block, _, ok := strings.Cut(part, "```"); ok && n > 0 {
			_, err := policy.Parse([]byte(block))
			assert.NoError(t, err, block)
		}
		n++
	}
	assert.Equal(t, 3, n)
}
