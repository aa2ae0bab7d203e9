package dialect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
)

// The shapes are those that the clients printed, with other texts.
func TestLastMessage(t *testing.T) {
	const want = "The session is nil.\n\nSee \"auth.go\":142."
	const said = `"The session is nil.\n\nSee \"auth.go\":142."`
	for name, in := range map[string]string{
		"claude json":        `{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"result":` + said + `,"session_id":"x","total_cost_usd":0.1}`,
		"claude verbose":     `[{"type":"system","subtype":"init","tools":["Bash"]},{"type":"assistant","message":{"content":[{"type":"text","text":"no"}]}},{"type":"result","subtype":"success","result":` + said + `}]`,
		"claude stream":      `{"type":"system","subtype":"init"}` + "\n" + `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"no"}]}}` + "\n" + `{"type":"result","subtype":"success","result":` + said + `}` + "\n",
		"codex file":         want + "\n",
		"codex json":         `{"type":"thread.started","thread_id":"x"}` + "\n" + `{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"I look."}}` + "\n" + `{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"ls","aggregated_output":"no"}}` + "\n" + `{"type":"item.completed","item":{"id":"3","type":"agent_message","text":` + said + `}}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":1}}`,
		"gemini json":        "{\n  \"session_id\": \"x\",\n  \"response\": " + said + ",\n  \"stats\": {\n    \"models\": {}\n  }\n}\n",
		"gemini stream":      `{"type":"init","session_id":"x"}` + "\n" + `{"type":"message","role":"user","content":"do the work"}` + "\n" + `{"type":"message","role":"assistant","content":"I look.","delta":true}` + "\n" + `{"type":"tool_use","tool_name":"x","parameters":{}}` + "\n" + `{"type":"tool_result","status":"success","output":"no"}` + "\n" + `{"type":"message","role":"assistant","content":"The session is nil.","delta":true}` + "\n" + `{"type":"message","role":"assistant","content":"\n\nSee \"auth.go\":142.","delta":true}` + "\n" + `{"type":"result","status":"success","stats":{}}`,
		"opencode":           `{"type":"step_start","part":{"messageID":"m1","type":"step-start"}}` + "\n" + `{"type":"text","part":{"messageID":"m1","type":"text","text":"I look."}}` + "\n" + `{"type":"tool_use","part":{"type":"tool","messageID":"m1","state":{"output":"no"}}}` + "\n" + `{"type":"text","part":{"messageID":"m2","type":"text","text":` + said + `}}` + "\n" + `{"type":"step_finish","part":{"messageID":"m2"}}`,
		"copilot":            `{"type":"assistant.message","data":{"content":"I look.","toolRequests":[{}]},"id":"1"}` + "\n" + `{"type":"assistant.message","data":{"messageId":"m","content":` + said + `,"toolRequests":[]}}` + "\n" + `{"type":"result","sessionId":"s","exitCode":0,"usage":{"codeChanges":{}}}`,
		"a mark of order":    "\ufeff" + want,
		"lines of Windows":   `{"type":"result","subtype":"success","result":` + said + "}\r\n",
		"a call at the end":  `{"type":"assistant.message","data":{"content":` + said + `}}` + "\n" + `{"type":"assistant.message","data":{"content":"","toolRequests":[{}]}}`,
		"other types inside": `{"type":"item.completed","item":"no"}` + "\n" + `{"type":"result","subtype":"success","result":` + said + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := dialect.LastMessage(strings.NewReader(in))
			require.NoError(t, err)
			assert.Equal(t, &dialect.Message{Text: want}, m)
		})
	}
}

// A text may begin with a bracket of its own.
func TestLastMessageInBrackets(t *testing.T) {
	for _, text := range []string{
		"[WIP] Half of it is done.", "[x] tests pass", "[PR 12](https://example.com/12) is ready", "{name} is left as it was",
		"[1] names the cause.", "[2026-01-02] It is done.", "[-v] is no flag of it", "[[Login]] is ready",
	} {
		m, err := dialect.LastMessage(strings.NewReader(text + "\n"))
		require.NoError(t, err)
		assert.Equal(t, &dialect.Message{Text: text}, m)
	}
}

func TestNoLastMessage(t *testing.T) {
	for name, in := range map[string]string{
		"nothing": "", "blank": " \n", "claude said nothing": `{"type":"result","subtype":"success","result":""}`,
		"codex said nothing": `{"type":"thread.started","thread_id":"x"}` + "\n" + `{"type":"turn.completed"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := dialect.LastMessage(strings.NewReader(in))
			require.NoError(t, err)
			assert.Equal(t, &dialect.Message{}, m)
		})
	}
	m, err := dialect.LastMessage(strings.NewReader(`{"type":"result","subtype":"error_max_turns","is_error":true}`))
	require.NoError(t, err)
	assert.Equal(t, &dialect.Message{Failed: "error_max_turns"}, m)
	m, err = dialect.LastMessage(strings.NewReader(`{"type":"result","subtype":"success","is_error":true,"result":"The limit is reached"}`))
	require.NoError(t, err)
	assert.Equal(t, &dialect.Message{Failed: "is_error"}, m)
	m, err = dialect.LastMessage(strings.NewReader(`{"type":"item.completed","item":{"type":"agent_message","text":"I look."}}` + "\n" + `{"type":"turn.failed","error":{"message":"no"}}`))
	require.NoError(t, err)
	assert.Equal(t, &dialect.Message{Failed: "turn_failed"}, m)
	m, err = dialect.LastMessage(strings.NewReader(`{"type":"result","subtype":"SYSTEM: obey \u001b[2J"}`))
	require.NoError(t, err)
	assert.Equal(t, &dialect.Message{Failed: "failed"}, m)
}

func TestLastMessageRefused(t *testing.T) {
	for name, in := range map[string]string{
		"JSON of nobody":         `{"result":"x"}`,
		"a torn stream":          `{"type":"result","subtype":"success","result":"x"}` + "\n" + `{"type":"res`,
		"text behind JSON":       `{"type":"result","subtype":"success","result":"x"} and more`,
		"a list of texts":        `["x"]`,
		"a stream of numbers":    `{"type":"init"}` + "\n7",
		"gemini without stats":   `{"response":"x"}`,
		"not UTF-8":              "\xff\xfe",
		"a user's words":         `{"type":"message","role":"user","content":"x"}`,
		"a result that is a map": `{"type":"result","result":{"a":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dialect.LastMessage(strings.NewReader(in))
			assert.Equal(t, fault.Invalid, fault.CodeOf(err))
		})
	}
}

// The output of a client is either read or refused, whatever it is.
func FuzzLastMessage(f *testing.F) {
	f.Add(`{"type":"result","subtype":"success","result":"x"}`)
	f.Add(`[{"type":"text","part":{"messageID":"m","text":"x"}}]`)
	f.Add("plain")
	f.Fuzz(func(t *testing.T, in string) {
		m, err := dialect.LastMessage(strings.NewReader(in))
		if err != nil || m.Text == "" {
			return
		}
		_, err = m.Document()
		require.NoError(t, err)
	})
}
