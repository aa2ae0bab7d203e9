package agenttest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

type (
	object map[string]any
	array  []any
)

func itoa(n int) string { return strconv.Itoa(n) }

// wire is one format of requests and answers.
type wire interface {
	read(body []byte) (*question, error)
	write(w http.ResponseWriter, path string, q *question, a answer)
}

func wireOf(path string) wire {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "enerateContent"):
		return gemini{}
	}
	return nil
}

// offer is the part of a request that all formats but Gemini's share.
type offer struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []struct {
		Type     string                  `json:"type"`
		Name     string                  `json:"name"`
		Function struct{ Name string }   `json:"function"`
		Tools    []struct{ Name string } `json:"tools"` // Codex CLI groups the tools of an MCP server
	} `json:"tools"`
}

func readOffer(body []byte) (*question, error) {
	var o offer
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	q := &question{model: o.Model, stream: o.Stream}
	for _, t := range o.Tools {
		switch {
		case t.Type == "namespace":
			for _, inner := range t.Tools {
				q.tools = append(q.tools, tool{inner.Name, "function", t.Name})
			}
		case t.Function.Name != "":
			q.tools = append(q.tools, tool{t.Function.Name, "function", ""})
		case t.Name != "":
			q.tools = append(q.tools, tool{t.Name, t.Type, ""})
		}
	}
	return q, nil
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return events{w}
}

func (e events) send(v object) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	var out bytes.Buffer
	if name, ok := v["type"].(string); ok {
		out.WriteString("event: " + name + "\n")
	}
	out.WriteString("data: " + string(b) + "\n\n")
	e.raw(out.String())
}

func (e events) raw(s string) {
	_, _ = e.w.Write([]byte(s))
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

func whole(w http.ResponseWriter, v object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func spelled(args map[string]any) string {
	b, err := json.Marshal(args)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// anthropic is the Messages API of Anthropic.
type anthropic struct{}

func (anthropic) read(body []byte) (*question, error) { return readOffer(body) }

func (anthropic) write(w http.ResponseWriter, _ string, q *question, a answer) {
	stop, block := "end_turn", object{"type": "text", "text": a.text}
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}
	if a.tool != nil {
		stop = "tool_use"
		block = object{"type": "tool_use", "id": a.id("toolu_"), "name": a.tool.name, "input": a.args}
		start = object{"type": "tool_use", "id": block["id"], "name": a.tool.name, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": spelled(a.args)}
	}
	message := object{
		"id": a.id("msg_"), "type": "message", "role": "assistant", "model": q.model, "content": array{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
	}
	if !q.stream {
		message["content"], message["stop_reason"] = array{block}, stop
		whole(w, message)
		return
	}
	e := newEvents(w)
	e.send(object{"type": "message_start", "message": message})
	e.send(object{"type": "content_block_start", "index": 0, "content_block": start})
	e.send(object{"type": "content_block_delta", "index": 0, "delta": delta})
	e.send(object{"type": "content_block_stop", "index": 0})
	e.send(object{
		"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": 5},
	})
	e.send(object{"type": "message_stop"})
}

// responses is the Responses API of OpenAI.
type responses struct{}

func (responses) read(body []byte) (*question, error) { return readOffer(body) }

func (responses) write(w http.ResponseWriter, _ string, q *question, a answer) {
	item := object{
		"type": "message", "id": a.id("item_"), "role": "assistant", "status": "completed",
		"content": array{object{"type": "output_text", "text": a.text, "annotations": array{}}},
	}
	if a.tool != nil {
		item = object{
			"type": "function_call", "id": a.id("fc_"), "call_id": a.id("call_"), "name": a.tool.name,
			"arguments": spelled(a.args), "status": "completed",
		}
		if a.tool.space != "" {
			item["namespace"] = a.tool.space
		}
	}
	response := object{"id": a.id("resp_"), "object": "response", "model": q.model, "status": "in_progress", "output": array{}}
	e := newEvents(w)
	e.send(object{"type": "response.created", "response": response})
	e.send(object{"type": "response.output_item.added", "output_index": 0, "item": item})
	if a.tool == nil {
		e.send(object{
			"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
			"item_id": item["id"], "delta": a.text,
		})
	}
	e.send(object{"type": "response.output_item.done", "output_index": 0, "item": item})
	response["status"], response["output"] = "completed", array{item}
	response["usage"] = object{
		"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 5, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 15,
	}
	e.send(object{"type": "response.completed", "response": response})
}

// chat is the Chat Completions API of OpenAI, which many others speak.
type chat struct{}

func (chat) read(body []byte) (*question, error) { return readOffer(body) }

func (chat) write(w http.ResponseWriter, _ string, q *question, a answer) {
	id, finish := a.id("chatcmpl-"), "stop"
	message := object{"role": "assistant", "content": a.text}
	if a.tool != nil {
		finish = "tool_calls"
		message = object{"role": "assistant", "content": nil, "tool_calls": array{object{
			"index": 0, "id": a.id("call_"), "type": "function",
			"function": object{"name": a.tool.name, "arguments": spelled(a.args)},
		}}}
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	if !q.stream {
		whole(w, object{
			"id": id, "object": "chat.completion", "model": q.model, "usage": usage,
			"choices": array{object{"index": 0, "message": message, "finish_reason": finish}},
		})
		return
	}
	e := newEvents(w)
	chunk := func(delta object, finish, usage any) {
		e.send(object{
			"id": id, "object": "chat.completion.chunk", "model": q.model, "usage": usage,
			"choices": array{object{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(message, nil, nil)
	chunk(object{}, finish, usage)
	e.raw("data: [DONE]\n\n")
}

// gemini is the generateContent API of Google.
type gemini struct{}

func (gemini) read(body []byte) (*question, error) {
	var o struct {
		Tools []struct {
			Declarations []struct{ Name string } `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	q := &question{}
	for _, t := range o.Tools {
		for _, d := range t.Declarations {
			q.tools = append(q.tools, tool{d.Name, "function", ""})
		}
	}
	return q, nil
}

func (gemini) write(w http.ResponseWriter, path string, _ *question, a answer) {
	part := object{"text": a.text}
	if a.tool != nil {
		part = object{"functionCall": object{"name": a.tool.name, "args": a.args}}
	}
	response := object{
		"candidates": array{object{
			"content": object{"role": "model", "parts": array{part}}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  "mock",
	}
	if strings.HasSuffix(path, ":streamGenerateContent") {
		newEvents(w).send(response)
		return
	}
	whole(w, response)
}
