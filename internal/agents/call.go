package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// MaxInput bounds a client's JSON, in bytes. A client may send the whole content of a file that is
// about to be written, with up to 12 bytes for a character. A larger call counts as one that cannot
// be read.
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
	// Tool is the tool about to run.
	Tool string
	// Unread says why a tool call cannot be read; nil if it can.
	Unread error

	name   string   // name of the event, as the client spells it in answers
	args   []any    // arguments of the tool, in every reading that the client may choose
	spelt  []string // paths of the files that the tool changes, as spelt in any of these readings
	refs   []string // refs that the tool pushes
	files  []string // absolute paths of the changed files, with links followed; nil until they were looked up
	getenv func(string) string
}

// readPayload reads the objects of an input, one or more. It returns an error together with the
// objects before it.
func readPayload(b []byte) (members, error) {
	all, err := parse(b)
	var p members
	for _, v := range all {
		o, ok := v.(members)
		switch {
		case !ok && v != nil:
			return p, errNoObject
		case ok && p == nil:
			p = members{}
		}
		p = append(p, o...)
	}
	if err == nil && p == nil {
		err = errEmpty
	}
	return p, err
}

var (
	errEmpty    = errors.New("it is empty")
	errNoObject = errors.New("it is not a JSON object")
)

// text returns the first non-empty string among the members. One of another type counts as absent:
// the rest of a call is still checked.
func (p members) text(names ...string) string {
	for _, name := range names {
		for _, m := range p {
			if s, _ := m.value.(string); m.name == name && s != "" {
				return s
			}
		}
	}
	return ""
}

func (p members) yes(name string) bool {
	return slices.ContainsFunc(p, func(m member) bool { return m.name == name && m.value == true })
}

func (p members) has(name string) bool {
	return slices.ContainsFunc(p, func(m member) bool { return m.name == name && m.value != nil })
}

// root returns the first directory of Cursor's workspace.
func (p members) root() string {
	for _, m := range p {
		roots, _ := m.value.([]any)
		if m.name == "workspace_roots" && len(roots) > 0 {
			s, _ := roots[0].(string)
			return s
		}
	}
	return ""
}

// several reports whether a member appears several times with different values. Clients differ in
// which one they take.
func (p members) several(names ...string) bool {
	var values []any
	for _, m := range p {
		if hasName(m.name, names...) {
			s, _ := m.value.(string)
			values = append(values, s)
		}
	}
	return len(slices.Compact(values)) > 1
}

// args lists the arguments of a tool. Some clients send them as a string, and some the bare text of
// a patch or of a command.
func (p members) args(tool string) ([]any, error) {
	var all []any
	var err error
	for _, m := range p {
		if !hasName(m.name, "toolinput", "toolargs") {
			continue
		}
		v := m.value
		if s, ok := v.(string); ok {
			if in, ok := written(s); ok {
				v = in
			} else if opens(s) && !isShell(tool) {
				err = errArguments
			}
		}
		if s, ok := v.(string); ok {
			v = members{{"input", s}, {"command", s}}
		}
		if v != nil {
			all = append(all, v)
		}
	}
	return all, err
}

var errArguments = errors.New("the arguments of its tool are not JSON")

// Read reads a call of client's hook for event. An empty input is an empty object. It returns
// nil without an error if githandoff has no answer for the client or the event.
//
// Even a tool call that cannot be read is returned, because a token may forbid it, see
// [Call.Unread].
//
// Copilot CLI, Cursor and VS Code also run the hooks of Claude Code. The environment and
// members of their own tell them apart; the answer is spelled for the actual caller.
func Read(client, event string, in io.Reader, getenv func(string) string) (*Call, error) {
	c := lookup(client)
	if c == nil || c.event(event) == "" {
		return nil, nil
	}
	b, err := readAll(in)
	var p members
	if err == nil {
		p, err = readPayload(b)
	}
	tool := c.event(event) == BeforeTool
	if tool && err == nil && !utf8.Valid(b) {
		err = errors.New("it is not UTF-8")
	}
	switch {
	case tool && err != nil:
		return unread(c, event, begun(b), err, getenv), nil
	case err != nil && p == nil && !errors.Is(err, errEmpty):
		return nil, fmt.Errorf("read the input of a hook: %w", err)
	}
	call := newCall(c, event, p, getenv)
	if tool {
		call.readTool(p)
	}
	return call, nil
}

// Unread returns the call of a tool of which nothing could be read; nil for any other event.
func Unread(client, event string, why error, getenv func(string) string) *Call {
	c := lookup(client)
	if c == nil || c.event(event) != BeforeTool {
		return nil
	}
	return unread(c, event, nil, why, getenv)
}

// unread returns a call with the members before the one that could not be read.
func unread(c *Client, event string, p members, why error, getenv func(string) string) *Call {
	call := newCall(c, event, p, getenv)
	call.Unread = why
	return call
}

// readAll reads an input to its end. If a hook closes its input, a client may consider the hook
// failed, and go on.
func readAll(in io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, MaxInput+1))
	if err != nil {
		return b, err
	}
	if len(b) > MaxInput {
		_, _ = io.Copy(io.Discard, in)
		return b, fmt.Errorf("it has more than %d bytes", MaxInput)
	}
	return b, nil
}

func newCall(c *Client, event string, p members, getenv func(string) string) *Call {
	reason := p.text("reason") // why the session ended, in a session-end event
	call := &Call{
		Client: c, Event: c.event(event), name: event, getenv: getenv,
		Session: p.text("session_id", "sessionId", "conversation_id"), Dir: cmp.Or(p.text("cwd"), p.root()),
		Source: p.text("source"), GoesOn: reason == "clear" || reason == "resume",
		Again: p.yes("stop_hook_active"), Subagent: p.text("agent_id") != "",
		Tool: p.text("tool_name", "toolName"),
	}
	if c.Name == "claude" {
		call.Client = caller(c, p, getenv)
	}
	if call.Source == "new" { // Copilot CLI calls it so
		call.Source = "startup"
	}
	call.Attended = attended(call.Client, getenv)
	return call
}

// readTool reads the arguments of a tool.
func (c *Call) readTool(p members) {
	c.args, c.Unread = p.args(c.Tool)
	if command := p.text("command"); len(c.args) == 0 && command != "" { // Cursor's beforeShellExecution
		c.Tool, c.args = "Bash", []any{members{{"command", command}}}
	}
	switch {
	case c.Unread != nil:
	case p.several("toolname"):
		c.Unread = errors.New("it names several tools")
	case p.several("cwd"):
		c.Unread = errors.New("it names several directories")
	default:
		c.spelt, c.refs = c.paths(), c.pushes()
		c.Unread = c.bounded()
	}
}

// caller returns the actual client behind a hook of Claude Code.
func caller(claude *Client, p members, getenv func(string) string) *Client {
	switch {
	case p.text("cursor_version") != "":
		return lookup("cursor")
	case getenv("COPILOT_CLI") != "" || p.has("hook_event_name") && p.has("timestamp"):
		return &Client{Name: "copilot", form: both, events: claude.events}
	}
	return claude
}

// attended reads a variable that only Claude Code sets in the environment of its hooks.
func attended(c *Client, getenv func(string) string) *bool {
	v := getenv("CLAUDE_CODE_SESSION_ATTENDED")
	if c.Name != "claude" || v == "" {
		return nil
	}
	return new(v != "0")
}
