package agents

import (
	"path/filepath"
	"strings"

	"githandoff/internal/fault"
)

// Event is an event of a session, under the same name for all clients.
type Event string

// The events githandoff has something to say to.
const (
	SessionStart Event = "session-start" // a session began, went on, or was compacted
	Prompt       Event = "prompt"        // the user, or a program, said something
	BeforeTool   Event = "before-tool"   // a tool is about to run
	BeforeCut    Event = "before-cut"    // the context is about to be compacted
	TurnEnd      Event = "turn-end"      // the agent stopped working
	SessionEnd   Event = "session-end"   // the session is over
)

// form is a client's spelling of an answer.
type form int

const (
	nested   form = iota // hookSpecificOutput, for Claude Code and Codex CLI
	flat                 // members at the top level, for Copilot CLI
	decision             // hookSpecificOutput for context; decision and reason for a refusal, for Gemini CLI
	both                 // nested and flat at once, for Copilot CLI with the hooks of Claude Code
	plugin               // what plugins/opencode/githandoff.js reads
	cursor               // permission and agent_message, for Cursor
)

// Client is a coding agent's program.
type Client struct {
	Name   string // name on the command line of "githandoff setup"
	form   form
	events map[string]Event // events by the client's own names, in lower case
}

// Finding is the result of one check of a client's set-up.
type Finding struct {
	Client string // "" if it concerns all clients
	OK     bool
	Text   string     // one line for people; parts of it come from files
	Hint   fault.Hint // how to solve the problem; zero if OK
}

// clients lists the programs and the documented names of their events; see docs/agents.md for
// the versions tried.
func clients() []*Client {
	claude := map[string]Event{
		"sessionstart": SessionStart, "userpromptsubmit": Prompt, "pretooluse": BeforeTool,
		"precompact": BeforeCut, "stop": TurnEnd, "sessionend": SessionEnd,
	}
	return []*Client{
		{"claude", nested, claude},
		{"codex", nested, claude},
		{"gemini", decision, map[string]Event{
			"sessionstart": SessionStart, "beforeagent": Prompt, "beforetool": BeforeTool,
			"precompress": BeforeCut, "afteragent": TurnEnd, "sessionend": SessionEnd,
		}},
		{"opencode", plugin, claude},
		{"copilot", flat, map[string]Event{
			"sessionstart": SessionStart, "userpromptsubmitted": Prompt, "pretooluse": BeforeTool,
			"precompact": BeforeCut, "agentstop": TurnEnd, "sessionend": SessionEnd,
		}},
		{"cursor", cursor, map[string]Event{
			"sessionstart": SessionStart, "beforesubmitprompt": Prompt, "pretooluse": BeforeTool,
			"beforeshellexecution": BeforeTool, "precompact": BeforeCut, "stop": TurnEnd, "sessionend": SessionEnd,
		}},
	}
}

// Dir returns the directory with a client's files of a user, which the environment may move.
// configHome is the place of the files of programs that follow the XDG specification.
func Dir(client, home, configHome string, getenv func(string) string) string {
	moved := ""
	switch client {
	case "claude":
		moved = getenv("CLAUDE_CONFIG_DIR")
	case "codex":
		moved = getenv("CODEX_HOME")
	case "opencode":
		return filepath.Join(configHome, client)
	}
	if filepath.IsAbs(moved) {
		return moved
	}
	return filepath.Join(home, "."+client)
}

func lookup(name string) *Client {
	for _, c := range clients() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// event translates a client's name of an event; "" if githandoff does not answer it.
func (c *Client) event(name string) Event { return c.events[strings.ToLower(name)] }
