package screen_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/screen"
)

func requireRefusal(t *testing.T, err error, code fault.Code, reason, message string) {
	t.Helper()
	f := fault.As(err)
	require.NotNil(t, f, "want a refusal, got %v", err)
	require.Equal(t, code, f.Code, "%v", err)
	require.Equal(t, fault.Reason(reason), f.Reason, "%v", err)
	require.Contains(t, err.Error(), message)
}

func TestHidden(t *testing.T) {
	var refused []rune
	for _, span := range [][2]rune{
		{0x00, 0x08},
		{0x0b, 0x0c},
		{0x0e, 0x1f},
		{0x7f, 0x9f},
		{0xad, 0xad},
		{0x34f, 0x34f},
		{0x61c, 0x61c},
		{0x115f, 0x1160},
		{0x17b4, 0x17b5},
		{0x180b, 0x180f},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0x3164, 0x3164},
		{0xfe00, 0xfe0f},
		{0xfeff, 0xfeff},
		{0xffa0, 0xffa0},
		{0xfff9, 0xfffb},
		{0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	} {
		for r := span[0]; r <= span[1]; r++ {
			refused = append(refused, r)
		}
	}
	for _, r := range refused {
		for _, s := range []string{string(r), "fix" + string(r) + "bug", "fix " + string(r)} {
			requireRefusal(t, screen.Text("summary", s), fault.Invalid, "malformed", "summary: ")
		}
	}
	for in, message := range map[string]string{
		"ok\xff":            "detail: not valid UTF-8 at line 1, column 3",
		"\xed\xa0\x80":      "not valid UTF-8",
		"a\x1b[2Jb":         "detail: control character U+001B at line 1, column 2",
		"é\u202e":           "detail: bidirectional or invisible character U+202E at line 1, column 2",
		"❤\ufe0f\ufe0f":     "U+FE0F at line 1, column 3",
		"a\ufe0f":           "U+FE0F",
		"👩\u200d":           "U+200D",
		"👩\u200d\u200d💻":    "U+200D",
		"👩\u200dx":          "U+200D",
		"x\u200d👩":          "U+200D",
		"می\u200c x":        "U+200C",
		"می\u200c\u200cخ":   "U+200C",
		"🏴\U000e0067\u007f": "U+E0067",
		// These characters are not visible, so the message has their position.
		"Первая\nвторая строка, пере\u00adнос": "detail: bidirectional or invisible character U+00AD (soft hyphen) at line 2, column 20",
		"a\r\nb\r\n\tc\u200b": "U+200B (zero-width space) at line 3, column 3",
	} {
		requireRefusal(t, screen.Text("detail", in), fault.Invalid, "malformed", message)
	}
	for _, ok := range []string{
		"", "tab\tline\r\nnext\n", "naïve → “quoted” … ✓ ✗ ── 日本語 العربية עברית हिन्दी Ω≈ç", "\ufffd", "\ue0b0 nerd font",
		"❤️ 🛑 ✔️ ☎︎ 1️⃣ #️⃣ ‼️ ℹ️ ™️", "👩‍💻 👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🧑‍⚕️ ❤️‍🔥 🙂‍↔️", "می‌خواهم نامه‌ای", "क्‍ष श्री", "؀١٢٣ \u06dd",
	} {
		assert.NoError(t, screen.Text("detail", ok), "%q", ok)
	}
}

// Invisible characters are refused, with a hint.
func TestHiddenHint(t *testing.T) {
	for _, s := range []string{"a\u00adb", "a\u202eb", "a\x1b[0m"} {
		refusal := fault.As(screen.Text("detail", s))
		require.NotNil(t, refusal, "%q", s)
		require.Len(t, refusal.Hints, 1)
		assert.Contains(t, refusal.Hints[0].Why, "delete the character")
	}
}

func TestTranscript(t *testing.T) {
	for name, s := range map[string]string{
		"user and assistant":     "User: fix it\nAssistant: done",
		"human and assistant":    "\n\nHuman: fix it\n\nAssistant: done\n\n",
		"lower case":             "user: fix it\nassistant: done",
		"upper case":             "USER: FIX IT\nASSISTANT: DONE",
		"carriage returns":       "User: a\rAssistant: b",
		"far apart":              "User: a\n" + strings.Repeat("some text\n", 500) + "Assistant: b",
		"bold":                   "**User:** a\n\n**Assistant:** b",
		"bold, colon outside":    "**User**: a\n**Assistant**: b",
		"bold alone":             "**User**\na\n**Assistant**\nb",
		"headings":               "### User\na\n\n### Assistant\nb",
		"headings with a colon":  "## Human:\na\n## AI:\nb",
		"brackets":               "[user]: a\n[assistant]: b",
		"brackets, no colon":     "[USER] a\n[ASSISTANT] b",
		"tags":                   "<user>a</user>\n<assistant>b</assistant>",
		"quoted":                 "> User: a\n> Assistant: b",
		"list":                   "- User: a\n- Claude: b",
		"times":                  "[10:32] User: a\n[10:33] Copilot: b",
		"times behind":           "User (10:32): a\nChatGPT (10:33): b",
		"indented":               "    Human: a\n    GPT-4: b",
		"wide colon":             "User：a\nAssistant：b",
		"system and user again":  "System: be good\nUser: a\nTool: x\nUser: b",
		"assistant and tool":     "Assistant: I run it\nTool: ok\nAssistant: it ran",
		"human and agent":        "Human: a\nAgent: b\nHuman: c",
		"message array":          `[{"role":"user","content":"hi"}]`,
		"message array in text":  "see\n{\"messages\": [ { \"role\" : \"system\", \"content\" : \"x {y}\" } ]}",
		"content first":          `[{"content":"hi","role":"user"}]`,
		"two messages":           "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":[]}",
		"parts":                  `{"contents":[{"role":"model","parts":[{"text":"x"}]}]}`,
		"Python":                 `[{'role': 'user', 'content': 'hi'}]`,
		"escaped":                `"[{\"role\":\"user\",\"content\":\"hi\"}]"`,
		"escaped twice":          `[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"hi\\\"}]`,
		"ChatML":                 "<|im_start|>user\nhi<|im_end|>",
		"Llama 3":                "<|start_header_id|>user<|end_header_id|>",
		"Llama 2":                "<s>[INST] hi [/INST] hello",
		"conversation in bullet": "1. context\n* user: a\n* assistant: b",
	} {
		t.Run(name, func(t *testing.T) {
			requireRefusal(t, screen.Text("detail", s), fault.Policy, "transcript_found", "detail: holds a raw conversation (rule ")
		})
	}
}

// A transcript that is split over entries of a list is refused. Unrelated members are not joined.
func TestTranscriptOverMembers(t *testing.T) {
	e := envelope()
	e.CompletedSteps = []string{"User: fix it", "Assistant: done"}
	requireRefusal(t, screen.Envelope(e), fault.Policy, "transcript_found", "completed_steps[1]: holds a raw conversation (rule role-markers)")

	e = envelope()
	e.Data = map[string]string{"turn1": "Human: fix it", "turn2": "Assistant: done"}
	requireRefusal(t, screen.Envelope(e), fault.Policy, "transcript_found", "data.turn2: ")

	e = envelope()
	e.Summary, e.Detail = "User: clicks on login", "Assistant: none needed"
	assert.NoError(t, screen.Envelope(e))

	e = envelope()
	e.Origin = &handoff.Origin{Format: "vox", Extra: map[string]any{"/messages": []any{map[string]any{"role": "user", "content": "hi"}}}}
	requireRefusal(t, screen.Envelope(e), fault.Policy, "transcript_found", "origin.extra: holds a raw conversation (rule chat-messages)")
}

func envelope() *handoff.Envelope {
	return &handoff.Envelope{
		Schema: handoff.Schema, ID: "ho_01kahcp3g0000000000000000r", CreatedAt: "2026-11-20T22:00:00Z", Salt: "000102030405060708090a0b0c0d0e0f",
		Source: handoff.Source{Agent: "investigator", Commit: "0123456789abcdef0123456789abcdef01234567"},
		Target: handoff.Target{Agent: new("fixer")}, Status: handoff.StatusComplete, Goal: "Fix the login",
		OBO: &handoff.OBORef{JTI: "obo_000102030405060708090a0b0c0d0e0f", Path: "obo/0.json"},
	}
}

func TestEnvelope(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	e := envelope()
	require.NoError(t, screen.Envelope(e))

	for member, change := range map[string]func(e *handoff.Envelope){
		"summary":                 func(e *handoff.Envelope) { e.Summary = "use " + secret },
		"data.token":              func(e *handoff.Envelope) { e.Data = map[string]string{"a": "ok", "token": secret} },
		"data (a key)":            func(e *handoff.Envelope) { e.Data = map[string]string{secret: "x"} },
		"completed_steps[2]":      func(e *handoff.Envelope) { e.CompletedSteps = []string{"a", "b", secret} },
		"questions[0].options[1]": func(e *handoff.Envelope) { e.Questions = []handoff.Question{{Options: []string{"a", secret}}} },
		"context.memories[0]":     func(e *handoff.Envelope) { e.Context = &handoff.Context{Memories: []string{secret}} },
		"rollback.checkpoint":     func(e *handoff.Envelope) { e.Rollback = &handoff.Rollback{Checkpoint: secret} },
		"lineage[0].data.k":       func(e *handoff.Envelope) { e.Lineage = []handoff.Ancestor{{Data: map[string]string{"k": secret}}} },
		"origin.extra.\"/a\"[0]":  func(e *handoff.Envelope) { e.Origin = extra("/a", []any{secret}) },
		"origin.extra (a key)":    func(e *handoff.Envelope) { e.Origin = extra(secret, "") },
		"source.session":          func(e *handoff.Envelope) { e.Source.Session = secret },
		"expectations.constraints[0]": func(e *handoff.Envelope) {
			e.Expectations = &handoff.Expectations{Constraints: []string{secret}}
		},
	} {
		e := envelope()
		change(e)
		err := screen.Envelope(e)
		requireRefusal(t, err, fault.Policy, "secret_found", member+": looks like a secret (rule github-token)")
		assert.NotContains(t, err.Error(), secret[4:12])
		assert.NotContains(t, fault.As(err).Advice(), secret[4:12])
	}

	// The first finding is the same in every run.
	e.Data = map[string]string{"c": secret, "a": secret, "b": "\x00"}
	for range 20 {
		requireRefusal(t, screen.Envelope(e), fault.Policy, "secret_found", "data.a: ")
	}
	e.Origin = &handoff.Origin{Extra: map[string]any{"f": func() {}}}
	e.Data = nil
	requireRefusal(t, screen.Envelope(e), fault.Invalid, "malformed", "origin.extra: ")
}

func extra(key string, value any) *handoff.Origin {
	return &handoff.Origin{Format: "vox", Extra: map[string]any{key: value}}
}

func TestMap(t *testing.T) {
	assert.NoError(t, screen.Map("result", map[string]string{"branch": "fix/lin-423", "pr_url": "https://example.com/acme/client/pull/7"}))
	assert.NoError(t, screen.Map("result", nil))
	requireRefusal(t, screen.Map("result", map[string]string{"a": "b\u200b"}), fault.Invalid, "malformed", "result.a: bidi")
	requireRefusal(t, screen.Map("result", map[string]string{"\u200b": "b"}), fault.Invalid, "malformed", "result (a key): bidi")
	requireRefusal(t, screen.Map("result", map[string]string{"url": "https://u:p@host"}), fault.Policy, "secret_found", "result.url: looks like a secret (rule url-password)")
	// The name of a value helps to recognize it as a secret.
	requireRefusal(t, screen.Map("result", map[string]string{"aws_secret_access_key": strings.Repeat("aB3/", 10)}),
		fault.Policy, "secret_found", "result.aws_secret_access_key: looks like a secret (rule aws-secret-key)")
	requireRefusal(t, screen.Envelope(&handoff.Envelope{Origin: &handoff.Origin{Extra: map[string]any{
		"/env": map[string]any{"secretAccessKey": []any{"none", []any{strings.Repeat("aB3/", 10)}}},
	}}}), fault.Policy, "secret_found", `origin.extra."/env".secretAccessKey[1][0]: looks like a secret (rule aws-secret-key)`)
	requireRefusal(t, screen.Map("result", map[string]string{"Authorization": "Bearer abc123def"}),
		fault.Policy, "secret_found", "result.Authorization: looks like a secret (rule authorization-header)")
}

// Hostile text of the largest size must be checked in a short time.
func TestLinear(t *testing.T) {
	const n = handoff.MaxEnvelope
	for _, unit := range []string{
		"a", "\n", " ", "sk-", "xoxb-", "AKIA", "eyJ", "eyJ.", "eyJaaaaaaaa.", "ghp_ ", "://", "://a:", "://a:b@", "://a:x@h ", "bearer ", "Bearer a",
		"authorization: bearer words-words-words ", "secret_access_key=", "PRIVATE KEY", "-----BEGIN ", ":AA", "AccountKey=", "User: a\n", "**", "[", "[{", `[{"role":"user"`,
		`\`, `"content":`, "> > > ", "#", "[INST]", "👩\u200d💻", "日本", "❤️", "می‌خ",
	} {
		s := strings.Repeat(unit, n/len(unit))
		start := time.Now()
		_ = screen.Text("detail", s)
		assert.Less(t, time.Since(start), 3*time.Second, "%q", unit)
	}
	e := envelope()
	for range n / 4 {
		e.CompletedSteps = append(e.CompletedSteps, "sk-1eyJ:")
	}
	start := time.Now()
	assert.NoError(t, screen.Envelope(e))
	assert.Less(t, time.Since(start), 5*time.Second)
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"User: a\nAssistant: b", "xoxb-your-token", "👩‍💻", "\xff", "https://u:p@h", `[{"role":"user","content":1}]`, "sk-", "%3Dghp_", `\nghp_`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := screen.Text("detail", s)
		if err == nil {
			return
		}
		require.NotNil(t, fault.As(err))
		require.True(t, strings.HasPrefix(err.Error(), "detail: "))
		require.Less(t, len(err.Error()), 100)
	})
}
