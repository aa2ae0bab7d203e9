// Package agenttest runs real coding agents in tests, without an account and without a
// network: a [Model] on loopback answers them from a script.
package agenttest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Step is one turn of the model: a text, or a call of a tool.
type Step struct {
	Text string
	// Tool is a regular expression over the names of the tools that the client offers:
	// clients name the same tool differently. The first that matches is called.
	Tool  string
	Input map[string]any
	// Do runs before the answer is given. It stands for an event in the middle of a turn.
	Do func()
}

// Request is a question of a client to the model.
type Request struct {
	Path string
	Body string
	Step int // number of the step that answered the request; -1 if it used up none
}

// Model is an endpoint that speaks the wire formats of Anthropic Messages, OpenAI
// Responses, OpenAI Chat Completions and Gemini. Each request that offers tools uses up
// a step. Requests without tools, such as those for a title, are answered "ok". After
// the last step the model says that the script is over.
type Model struct {
	URL string

	mu    sync.Mutex
	steps []Step
	next  int
	asked []Request
	ids   int
}

// NewModel starts a model on loopback; it ends with the test.
func NewModel(t testing.TB, steps ...Step) *Model {
	m := &Model{steps: steps}
	s := httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(s.Close)
	m.URL = s.URL
	return m
}

// Asked lists the requests so far, in their order.
func (m *Model) Asked() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.asked...)
}

// Turns lists the requests that used up a step.
func (m *Model) Turns() []Request {
	var turns []Request
	for _, r := range m.Asked() {
		if r.Step >= 0 {
			turns = append(turns, r)
		}
	}
	return turns
}

func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	wire := wireOf(r.URL.Path)
	if r.Method != http.MethodPost || wire == nil {
		m.note(Request{Path: r.Method + " " + r.URL.Path, Body: string(body), Step: -1})
		_ = json.NewEncoder(w).Encode(object{"input_tokens": 1, "totalTokens": 1})
		return
	}
	q, err := wire.read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wire.write(w, r.URL.Path, q, m.turn(r.URL.Path, q, body))
}

func (m *Model) note(r Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
}

// question has the parts of a request that the model reads.
type question struct {
	model  string
	stream bool
	tools  []tool
}

type tool struct{ name, kind, space string }

// answer is a step with the tool that was found for it.
type answer struct {
	text string
	tool *tool
	args map[string]any
	id   func(prefix string) string
}

func (m *Model) turn(path string, q *question, body []byte) answer {
	m.mu.Lock()
	step, n := Step{Text: "ok"}, -1
	if len(q.tools) > 0 {
		step, n = Step{Text: "The script is over."}, m.next
		if n < len(m.steps) {
			step = m.steps[n]
		}
		m.next++
	}
	m.asked = append(m.asked, Request{Path: path, Body: string(body), Step: n})
	m.mu.Unlock()
	if step.Do != nil {
		step.Do()
	}
	a := answer{text: step.Text, args: step.Input, id: m.id}
	if a.args == nil {
		a.args = map[string]any{}
	}
	if step.Tool == "" {
		return a
	}
	want := regexp.MustCompile(step.Tool)
	for i := range q.tools {
		if want.MatchString(q.tools[i].space + q.tools[i].name) {
			a.tool = &q.tools[i]
			return a
		}
	}
	a.text = "No tool matches " + step.Tool + "."
	return a
}

func (m *Model) id(prefix string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids++
	return prefix + strings.Repeat("0", 6-len(itoa(m.ids))) + itoa(m.ids)
}
