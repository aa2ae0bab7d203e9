package mcp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

// worker answers each request with its arguments.
type worker struct{ asked []any }

func (w *worker) Inbox(context.Context) (Inbox, error) {
	return Inbox{Agent: "fixer", Waiting: []Waiting{{ID: "ho_1", From: "planner"}}, Held: []Held{}}, nil
}

func (w *worker) Show(_ context.Context, id string) (string, error) {
	return "----- begin\n{\"" + id + "\"}\n----- end\n", nil
}

func (w *worker) Take(_ context.Context, id string) (string, error) {
	if id == "taken" {
		return "", fault.New(fault.Conflict, "claimed", "handoff %s is held by other", id).WithHints(fault.Run("githandoff", "resume", "--next"), fault.Run("githandoff", "show", id).Because("shows it"), fault.Fact("ask its sender"))
	}
	return "taken\n", nil
}

func (w *worker) Progress(_ context.Context, id, message string) (Lease, error) {
	w.asked = append(w.asked, id, message)
	return Lease{Lease: "2026-11-22T10:00:00Z"}, nil
}

func (w *worker) Finish(_ context.Context, f Finish) (State, error) {
	w.asked = append(w.asked, f)
	return State{State: "acknowledged"}, nil
}

func (w *worker) Give(_ context.Context, g Give) (Given, error) {
	w.asked = append(w.asked, g)
	return Given{ID: "ho_2", State: "offered"}, nil
}

func client(t *testing.T, w Worker) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), w, "1.2.3", toServer, fromServer) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		if err := <-done; err != nil {
			t.Log("the server ended with", err) // its context has ended by then
		}
	})
	return s
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	return r
}

func said(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	text, ok := r.Content[0].(*mcp.TextContent)
	require.True(t, ok)
	return text.Text
}

type args = map[string]any

func TestTools(t *testing.T) {
	w := &worker{}
	s := client(t, w)
	assert.Equal(t, instructions, s.InitializeResult().Instructions)

	r := call(t, s, "handoff_inbox", args{})
	b, err := json.Marshal(r.StructuredContent)
	require.NoError(t, err)
	assert.JSONEq(t, `{"agent":"fixer","waiting":[{"id":"ho_1","from":"planner","at":""}],"held":[]}`, string(b))

	r = call(t, s, "handoff_show", args{"id": "ho_1"})
	assert.Equal(t, "----- begin\n{\"ho_1\"}\n----- end\n", said(t, r), "the fence is a text as it stands")
	assert.Nil(t, r.StructuredContent, "a structured result would hide the fence")
	assert.Equal(t, "taken\n", said(t, call(t, s, "handoff_take", args{})))

	r = call(t, s, "handoff_take", args{"id": "taken"})
	assert.True(t, r.IsError)
	assert.Equal(t, "githandoff: handoff taken is held by other (exit 5)\nhint: handoff_show {\"id\":\"taken\"} (shows it)\nhint: ask its sender", said(t, r))

	call(t, s, "handoff_progress", args{"message": "half"})
	call(t, s, "handoff_finish", args{"outcome": "done", "results": args{"pr": "7"}})
	call(t, s, "handoff_give", args{"to": "qa", "goal": "look", "done": []string{"x"}})
	assert.Equal(t, []any{
		"", "half", Finish{Outcome: "done", Results: map[string]string{"pr": "7"}}, Give{To: "qa", Goal: "look", Done: []string{"x"}},
	}, w.asked)
}

// An argument that is not in the schema is refused.
func TestUnknownArgumentsAreRefused(t *testing.T) {
	w := &worker{}
	s := client(t, w)
	for _, tc := range []struct {
		tool string
		args args
	}{
		{"handoff_inbox", args{"dir": "/etc"}},
		{"handoff_show", args{}},
		{"handoff_show", args{"id": 7}},
		{"handoff_take", args{"id": "x", "as": "root"}},
		{"handoff_finish", args{"outcome": "revoked"}},
		{"handoff_finish", args{"outcome": "done", "results": args{"a": 1}}},
		{"handoff_give", args{"to": "qa"}},
		{"handoff_give", args{"to": "qa", "goal": "x", "on_behalf_of": "user:alice@example.com"}},
		{"handoff_give", args{"to": "qa", "goal": "x", "files": []string{"1", "2", "3", "4", "5", "6"}}},
	} {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tc.tool, Arguments: tc.args})
		assert.True(t, err != nil || r.IsError, "%v", tc)
	}
	assert.Empty(t, w.asked)
}

// A refusal names the argument and its allowed values. An argument that is null counts as absent.
func TestArgumentsAreRefusedInPlainWords(t *testing.T) {
	w := &worker{}
	s := client(t, w)
	nothing := args{"id": nil, "summary": nil, "results": nil}
	for _, tc := range []struct {
		tool string
		args args
		want string
	}{
		{"handoff_give", args{"to": "qa", "goal": "x", "files": "a"}, "files: want a list of at most 5 paths"},
		{"handoff_give", args{"to": "qa", "goal": "x", "files": []string{"1", "2", "3", "4", "5", "6"}}, "files: want a list of at most 5 paths"},
		{"handoff_give", args{"to": "qa", "goal": "x", "done": []any{"a", nil}}, "done: want a list of strings"},
		{"handoff_give", args{"to": nil, "goal": "x"}, "to is missing: want a string"},
		{"handoff_finish", args{"outcome": "revoked"}, "outcome: want done, failed, release"},
		{"handoff_finish", args{"outcome": "done", "results": args{"a": 1}}, "results: want an object of strings"},
		{"handoff_take", args{"as": "root"}, "unknown argument: want id"},
		{"handoff_inbox", args{"as": "root"}, "unknown argument: want none"},
	} {
		r := call(t, s, tc.tool, tc.args)
		assert.True(t, r.IsError)
		assert.Equal(t, "githandoff: "+tc.want+" (exit 2)", said(t, r))
	}
	nothing["outcome"] = "done"
	assert.False(t, call(t, s, "handoff_finish", nothing).IsError)
	assert.False(t, call(t, s, "handoff_inbox", nil).IsError)
	assert.Equal(t, []any{Finish{Outcome: "done"}}, w.asked)
}

// The tools as a model sees them (names, descriptions and input schemas) cost at most 450 tokens,
// at four bytes a token.
func TestToolsCostFewTokens(t *testing.T) {
	s := client(t, &worker{})
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 6)
	bytes := 0
	for _, tool := range list.Tools {
		b, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		bytes += len(tool.Name) + len(tool.Description) + len(b)
	}
	t.Logf("%d bytes, about %d tokens", bytes, bytes/4)
	assert.LessOrEqual(t, bytes/4, 450)
	assert.LessOrEqual(t, len(instructions), 250)
}

// Clients use these hints to decide whether a tool runs without a question.
func TestAnnotations(t *testing.T) {
	s := client(t, &worker{})
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	reads := map[string]bool{"handoff_inbox": true, "handoff_show": true}
	for _, tool := range list.Tools {
		a := tool.Annotations
		require.NotNil(t, a.OpenWorldHint, tool.Name)
		assert.False(t, *a.OpenWorldHint, tool.Name)
		assert.Equal(t, reads[tool.Name], a.ReadOnlyHint, tool.Name)
		assert.Equal(t, !reads[tool.Name] && tool.Name != "handoff_give", a.IdempotentHint, tool.Name)
		if !a.ReadOnlyHint {
			require.NotNil(t, a.DestructiveHint, tool.Name)
			assert.Equal(t, tool.Name == "handoff_finish", *a.DestructiveHint, tool.Name)
		}
		b, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		for _, word := range []string{"anyOf", "oneOf", "null", `"path"`, `"url"`, `"key"`} {
			assert.NotContains(t, strings.ToLower(string(b)), strings.ToLower(word), tool.Name)
		}
	}
}
