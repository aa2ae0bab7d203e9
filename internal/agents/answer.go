package agents

import (
	"encoding/json"
	"maps"
	"strings"
	"unicode/utf8"
)

// MaxAnswer bounds a text for a client, in bytes. Of a longer text, Claude Code shows only the
// first 2 kB, and Codex CLI writes it to a file that others can read.
const MaxAnswer = 9000

type object map[string]any

// Context adds a text to the model's context, at the start of a session and at a prompt. No client
// takes a text at other events. For an empty text there is no answer.
func (c *Call) Context(text string) []byte {
	if text == "" || c.Event != SessionStart && c.Event != Prompt {
		return nil
	}
	text = clip(text)
	if c.Client.form == cursor {
		return spell(object{"additional_context": text})
	}
	return c.answer(object{"additionalContext": text})
}

// Begin is like Context for a session with work to do. In an unattended session of Claude Code the
// prompt is the first turn: "claude -p" needs no other one.
func (c *Call) Begin(text, prompt string) []byte {
	if c.Event != SessionStart || text == "" || c.Client.Name != "claude" || c.Attended == nil || *c.Attended {
		return c.Context(text)
	}
	return c.answer(object{"additionalContext": clip(text), "initialUserMessage": prompt})
}

// Deny refuses the tool call. There is no way to allow one: that would skip the client's
// question to its user.
func (c *Call) Deny(why string) []byte {
	if c.Event != BeforeTool {
		return nil
	}
	why = clip(why)
	switch c.Client.form {
	case decision:
		return spell(object{"decision": "deny", "reason": why})
	case plugin:
		return spell(object{"deny": why})
	case cursor:
		return spell(object{"permission": "deny", "agent_message": why, "user_message": why})
	}
	return c.answer(object{"permissionDecision": "deny", "permissionDecisionReason": why})
}

// Block makes the agent go on at the end of a turn, once, for the given reason.
func (c *Call) Block(reason string) []byte {
	if c.Event != TurnEnd {
		return nil
	}
	reason = clip(reason)
	switch c.Client.form {
	case decision:
		return spell(object{"decision": "deny", "reason": reason})
	case cursor:
		return spell(object{"followup_message": reason})
	}
	return spell(object{"decision": "block", "reason": reason})
}

// Note shows a text to the person, and costs the model nothing. Clients without such an answer
// get none.
func (c *Call) Note(text string) []byte {
	if c.Client.form != nested || text == "" {
		return nil
	}
	return spell(object{"systemMessage": clip(text)})
}

// answer encodes members for hookSpecificOutput, for the top, or for both.
func (c *Call) answer(out object) []byte {
	in := maps.Clone(out)
	in["hookEventName"] = c.name
	switch c.Client.form {
	case flat, plugin:
		return spell(out)
	case both:
		out["hookSpecificOutput"] = in
		return spell(out)
	}
	return spell(object{"hookSpecificOutput": in})
}

// spell encodes an answer as one line.
func spell(o object) []byte {
	b, _ := json.Marshal(o) // texts and objects of them have a JSON form
	return append(b, '\n')
}

const cut = "\n(cut: githandoff show prints all of it)\n"

// clip cuts a text to MaxAnswer at the end of a line, so that no character is halved.
func clip(s string) string {
	if len(s) <= MaxAnswer {
		return s
	}
	end := MaxAnswer - len(cut)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	if line := strings.LastIndexByte(s[:end], '\n'); line > end/2 {
		end = line
	}
	return s[:end] + cut
}
