package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxInput bounds a client's JSON, in bytes. A client may send the whole content of a file
// about to be written, and spells a character in up to 12 bytes. A call above it is
// unread: see [Call.Unread].
const MaxInput = 8 << 20

// Call is one call of a hook, in one form for all clients.
type Call struct {
	Client  *Client
	Event   Event
	Session string // the client's id of the session; empty if it sent none
	Dir     string // where the session works, absolute; empty if the client did not say

	// Source says how a session began: startup, resume, clear, compact or fork.
	Source string
	// GoesOn is set if the client goes on after the end of the session: its user began anew,
	// or went on with another one.
	GoesOn bool
	// Again is set at the end of a turn if a hook had made the agent go on.
	Again bool
	// Subagent is set for work the agent gave to another model.
	Subagent bool
	// Attended reports whether a person watches the session; nil if it is unknown.
	Attended *bool
	// Tool and Args are the tool call about to run.
	Tool string
	Args map[string]any
	// Unread is set for a tool call that could not be read, or whose arguments could not: too
	// large, nested too deep, no JSON. It might change any file.
	Unread bool

	name string // of the event, as the client spells it in answers
}

// payload has the members any client sends. A member of an unexpected type counts as absent:
// the rest of a call is still checked.
type payload map[string]json.RawMessage

// readPayload reads the first value of an input: an object, or null.
func readPayload(b []byte) (payload, error) {
	p := payload{}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if len(b) == 0 {
		return p, nil
	}
	err := json.NewDecoder(bytes.NewReader(b)).Decode(&p)
	return p, err
}

// text is the first non-empty string among the members.
func (p payload) text(members ...string) string {
	for _, m := range members {
		var s string
		if json.Unmarshal(p[m], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func (p payload) yes(member string) bool {
	var b bool
	return json.Unmarshal(p[member], &b) == nil && b
}

func (p payload) has(member string) bool { return len(p[member]) > 0 && string(p[member]) != "null" }

// arguments are those of a tool, from the first of the members that has any. Some clients send
// them as a string, some send a list, and some the bare text of a patch or of a command.
func (p payload) arguments(members ...string) (args map[string]any, unread bool) {
	for _, m := range members {
		text := p.text(m)
		raw := []byte(text)
		if len(raw) == 0 {
			raw = p[m]
		}
		v, deep := value(raw)
		switch v := v.(type) {
		case map[string]any:
			return v, false
		case []any:
			return map[string]any{"arguments": v}, false
		}
		if deep {
			return nil, true
		}
		if text != "" {
			return map[string]any{"input": text, "command": text}, false
		}
	}
	return nil, false
}

// value is a JSON value, nil if it is none. Numbers may have any size. Deep is set for a value that
// is nested deeper than encoding/json reads.
func value(raw []byte) (v any, deep bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	if err == nil {
		_, err = d.Token()
		if errors.Is(err, io.EOF) {
			return v, false
		}
		return nil, false // a text that begins like a value
	}
	return nil, strings.Contains(err.Error(), "max depth")
}

// Read reads a call of client's hook for event. An empty input is an empty object. It returns
// nil without an error if githandoff has no answer for the client or the event.
//
// A tool call that cannot be read is no error: see [Call.Unread].
//
// Copilot CLI, Cursor and VS Code also run the hooks of Claude Code. The environment and
// members of their own tell them apart; the answer is spelled for the actual caller.
func Read(client, event string, in io.Reader, getenv func(string) string) (*Call, error) {
	c := lookup(client)
	if c == nil || c.event(event) == "" {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, MaxInput+1))
	if err == nil && len(b) > MaxInput {
		err = fmt.Errorf("more than %d bytes", MaxInput)
	}
	p := payload{}
	if err == nil {
		p, err = readPayload(b)
	}
	if err != nil && c.event(event) == BeforeTool {
		return &Call{Client: c, Event: BeforeTool, name: event, Unread: true}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the input of a hook: %w", err)
	}
	reason := p.text("reason") // of the end of a session
	call := &Call{
		Client: c, Event: c.event(event), name: event,
		Session: p.text("session_id", "sessionId", "conversation_id"), Dir: p.text("cwd"),
		Source: p.text("source"), GoesOn: reason == "clear" || reason == "resume",
		Again: p.yes("stop_hook_active"), Subagent: p.text("agent_id") != "",
		Tool: p.text("tool_name", "toolName"),
	}
	call.Args, call.Unread = p.arguments("tool_input", "toolArgs")
	if command := p.text("command"); call.Args == nil && command != "" { // Cursor's beforeShellExecution
		call.Tool, call.Args = "Bash", map[string]any{"command": command}
	}
	var roots []string // of Cursor's workspace
	if call.Dir == "" && json.Unmarshal(p["workspace_roots"], &roots) == nil && len(roots) > 0 {
		call.Dir = roots[0]
	}
	if client == "claude" {
		call.Client = caller(c, p, getenv)
	}
	if call.Source == "new" { // Copilot CLI
		call.Source = "startup"
	}
	call.Attended = attended(call.Client, getenv)
	return call, nil
}

// caller is the actual client behind a hook of Claude Code.
func caller(claude *Client, p payload, getenv func(string) string) *Client {
	switch {
	case p.text("cursor_version") != "":
		return lookup("cursor")
	case getenv("COPILOT_CLI") != "" || p.has("hook_event_name") && p.has("timestamp"):
		return &Client{Name: "copilot", form: both, events: claude.events}
	}
	return claude
}

// attended reads a variable set by Claude Code alone in the environment of its hooks.
func attended(c *Client, getenv func(string) string) *bool {
	v := getenv("CLAUDE_CODE_SESSION_ATTENDED")
	if c.Name != "claude" || v == "" {
		return nil
	}
	yes := v != "0"
	return &yes
}
