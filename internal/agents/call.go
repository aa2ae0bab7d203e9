package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
)

// MaxInput bounds what is read of a client's JSON, in bytes. A client may send the
// whole content of a file that is to be written, and spells a character in up to 12 bytes. A call
// that is not read is not checked against the scope of a token.
const MaxInput = 8 << 20

// Call is one call of a hook, in one form for all clients.
type Call struct {
	Client  *Client
	Event   Event
	Session string // the client's id of the session; empty if it sent none
	Dir     string // where the session works, absolute; empty if the client did not say

	// Source says how a session began: startup, resume, clear, compact or fork.
	Source string
	// GoesOn is set at the end of a session after which its client goes on: its user
	// began anew, or went on with another one.
	GoesOn bool
	// Again is set at the end of a turn that a hook had made the agent go on with.
	Again bool
	// Subagent is set for a part of the work that the agent gave to another model.
	Subagent bool
	// Attended reports whether a person watches the session; nil if it is unknown.
	Attended *bool
	// Tool and Args are the tool call before which the hook runs.
	Tool string
	Args map[string]any

	name string // of the event, as the client spells it in answers
}

// payload has the members that any client sends. Other members are ignored.
type payload struct {
	Session      string         `json:"session_id"`
	SessionCamel string         `json:"sessionId"`
	Conversation string         `json:"conversation_id"` // Cursor
	Dir          string         `json:"cwd"`
	Roots        []string       `json:"workspace_roots"` // Cursor
	Event        string         `json:"hook_event_name"`
	Timestamp    any            `json:"timestamp"`
	CursorVer    string         `json:"cursor_version"`
	Source       string         `json:"source"`
	Reason       string         `json:"reason"` // of the end of a session
	Again        bool           `json:"stop_hook_active"`
	AgentID      string         `json:"agent_id"`
	Tool         string         `json:"tool_name"`
	ToolCamel    string         `json:"toolName"`
	Args         map[string]any `json:"tool_input"`
	ArgsCamel    map[string]any `json:"toolArgs"`
	Command      string         `json:"command"` // Cursor's beforeShellExecution
}

// Read reads a call of the hook that client was told to run at event. An empty input
// is an empty object. It returns nil without an error for a client or an event that
// githandoff has nothing to say to.
//
// Copilot CLI, Cursor and VS Code also run the hooks of Claude Code. The environment
// and the members that only they send tell them apart; the answer is then spelled so
// that the caller understands it.
func Read(client, event string, in io.Reader, getenv func(string) string) (*Call, error) {
	c := lookup(client)
	if c == nil || c.event(event) == "" {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, MaxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the input of a hook: %w", err)
	}
	if len(b) > MaxInput {
		return nil, fmt.Errorf("the input of a hook has more than %d bytes", MaxInput)
	}
	var p payload
	if len(b) > 0 {
		if err := json.Unmarshal(b, &p); err != nil {
			return nil, fmt.Errorf("read the input of a hook: %w", err)
		}
	}
	call := &Call{
		Client: c, Event: c.event(event), name: event,
		Session: cmp.Or(p.Session, p.SessionCamel, p.Conversation), Dir: p.Dir,
		Source: p.Source, GoesOn: p.Reason == "clear" || p.Reason == "resume", Again: p.Again, Subagent: p.AgentID != "",
		Tool: cmp.Or(p.Tool, p.ToolCamel), Args: p.Args,
	}
	if call.Args == nil {
		call.Args = p.ArgsCamel
	}
	if call.Args == nil && p.Command != "" {
		call.Tool, call.Args = "Bash", map[string]any{"command": p.Command}
	}
	if call.Dir == "" && len(p.Roots) > 0 {
		call.Dir = p.Roots[0]
	}
	if client == "claude" {
		call.Client = caller(c, &p, getenv)
	}
	if call.Source == "new" { // Copilot CLI
		call.Source = "startup"
	}
	call.Attended = attended(call.Client, getenv)
	return call, nil
}

// caller is the client that really runs a hook of Claude Code.
func caller(claude *Client, p *payload, getenv func(string) string) *Client {
	switch {
	case p.CursorVer != "":
		return lookup("cursor")
	case getenv("COPILOT_CLI") != "" || p.Event != "" && p.Timestamp != nil:
		return &Client{Name: "copilot", form: both, events: claude.events}
	}
	return claude
}

// attended is a variable that only Claude Code sets in the environment of its hooks.
func attended(c *Client, getenv func(string) string) *bool {
	v := getenv("CLAUDE_CODE_SESSION_ATTENDED")
	if c.Name != "claude" || v == "" {
		return nil
	}
	yes := v != "0"
	return &yes
}
