package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"githandoff/internal/fault"
)

// maxTranscript bounds a client's output, in bytes. A stream holds the agent's whole work.
const maxTranscript = 64 << 20

// Message is the last message of an agent.
type Message struct {
	Text string // empty if the agent said nothing
	// Failed is the client's word for an end without a last message, such as
	// "error_max_turns"; checked to be a word.
	Failed string
}

// LastMessage finds the last message of an agent in the output of its client:
//
//	claude -p --output-format json           {"type":"result","subtype":"success","result":TEXT}
//	  the same with --verbose                a list ending in it
//	  --output-format stream-json            lines ending in it
//	codex exec --output-last-message FILE    TEXT
//	codex exec --json                        lines {"type":"item.completed","item":{"type":"agent_message","text":TEXT}}
//	gemini --output-format json              {"response":TEXT,"stats":{…}}
//	  --output-format stream-json            lines {"type":"message","role":"assistant","content":PART}
//	opencode run --format json               lines {"type":"text","part":{"messageID":ID,"text":PART}}
//	copilot -p --output-format json          lines {"type":"assistant.message","data":{"content":TEXT}}
//
// A text beginning like JSON in none of these forms is refused: it could be anything.
func LastMessage(r io.Reader) (*Message, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxTranscript+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxTranscript {
		return nil, fault.New(fault.Invalid, fault.TooLarge, "the output of the agent has more than %d bytes", maxTranscript)
	}
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if !utf8.Valid(b) {
		return nil, noMessage("it is not valid UTF-8")
	}
	m := &Message{}
	switch {
	case len(b) == 0:
		return m, nil
	case !beginsJSON().Match(b):
		m.Text = string(b)
		return m, nil
	}
	events, err := eventsOf(b)
	if err != nil {
		return nil, err
	}
	var t turns
	for _, e := range events {
		t.take(e)
	}
	if !t.known {
		return nil, noMessage("its JSON is of no client that is known")
	}
	m.Text, m.Failed = strings.TrimSpace(t.text), t.failed
	return m, nil
}

// beginsJSON matches no text such as [WIP], [1], [[link]] or {name}: a client prints objects, alone or in an array.
var beginsJSON = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\{\s*["}]|\[\s*["{\]])`) })

func noMessage(why string) *fault.Error {
	return fault.New(fault.Invalid, fault.Malformed, "the output of the agent: %s", why)
}

// event is the union of the clients' events. A member of another type than here is of no
// interest: then the event is none of those looked for.
type event struct {
	Type     string  `json:"type"`
	Subtype  string  `json:"subtype"`
	IsError  bool    `json:"is_error"`
	Result   *string `json:"result"`
	Role     string  `json:"role"`
	Content  *string `json:"content"`
	Response *string `json:"response"`
	Stats    any     `json:"stats"`
	Item     struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	} `json:"item"`
	Part struct {
		Message string  `json:"messageID"`
		Text    *string `json:"text"`
	} `json:"part"`
	Data struct {
		Content *string `json:"content"`
	} `json:"data"`
}

// eventsOf reads one value, a list of values, or one value a line.
func eventsOf(b []byte) ([]event, error) {
	var raw []json.RawMessage
	if b[0] == '[' {
		if err := json.Unmarshal(b, &raw); err != nil {
			return nil, noMessage("it begins like JSON and is none")
		}
	} else {
		for d := json.NewDecoder(bytes.NewReader(b)); ; {
			var one json.RawMessage
			err := d.Decode(&one)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, noMessage("it begins like JSON and is none")
			}
			raw = append(raw, one)
		}
	}
	events := make([]event, 0, len(raw))
	for _, one := range raw {
		var e event
		if len(one) == 0 || one[0] != '{' {
			return nil, noMessage("a value in it is no object")
		}
		err := json.Unmarshal(one, &e)
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			e = event{Type: e.Type} // an event of a type that is not read here
		}
		events = append(events, e)
	}
	return events, nil
}

// turns follows the events of a session. Text is the last message so far.
type turns struct {
	text, failed string
	known        bool   // some event identified a client
	going        string // id of the message that further parts belong to; "" for none
}

func (t *turns) take(e event) {
	switch {
	case e.Type == "result" && e.IsError && e.Subtype == "success": // Claude Code at an error of its service
		t.fail("is_error")
	case e.Type == "result" && e.Result != nil: // Claude Code
		t.say("", *e.Result)
	case e.Type == "result" && e.Subtype != "": // Claude Code ended without a result
		t.fail(word(e.Subtype))
	case e.Type == "turn.failed": // Codex CLI: text before a failed turn is not its last message
		t.fail("turn_failed")
	case e.Type == "" && e.Response != nil && e.Stats != nil: // Gemini CLI
		t.say("", *e.Response)
	case e.Type == "item.completed" && e.Item.Type == "agent_message" && e.Item.Text != nil: // Codex CLI
		t.say("", *e.Item.Text)
	case e.Type == "message" && e.Role == "assistant" && e.Content != nil: // Gemini CLI
		t.say("assistant", *e.Content)
	case e.Type == "text" && e.Part.Message != "" && e.Part.Text != nil: // OpenCode
		t.say(e.Part.Message, *e.Part.Text)
	case e.Type == "assistant.message" && e.Data.Content != nil: // Copilot CLI
		t.say("", *e.Data.Content)
	case e.Type == "thread.started" || e.Type == "init" || e.Type == "step_start" || e.Type == "session.start" || e.Type == "system":
		t.known = true // a session may start and say nothing
	case e.Type == "tool_use" || e.Type == "tool_result":
		t.going = "" // the next text belongs to another message
	}
}

// say takes a message, or a part of the current one. A message without text, such as a tool
// call, leaves the one before.
func (t *turns) say(message, text string) {
	t.known, t.failed = true, ""
	if message != "" && message == t.going {
		t.text += text
		return
	}
	if t.going = message; text != "" || message == "" && t.text == "" {
		t.text = text
	}
}

// fail notes an end without a last message.
func (t *turns) fail(how string) {
	*t = turns{known: true, failed: how}
}

// word returns s if it is a plain word, as a client's own names are; "failed" otherwise.
func word(s string) string {
	if len(s) > 40 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "failed"
	}
	return s
}

// Document returns a message as a document: the one it holds, in any format, or else a kelos
// document with the message as its detail and its first paragraph as the summary.
func (m *Message) Document() ([]byte, error) {
	if _, err := Detect([]byte(m.Text)); err == nil {
		return []byte(m.Text), nil
	}
	return responseDocument(m.Text, nil)
}
