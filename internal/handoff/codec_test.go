package handoff_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

func TestEncodeSmallest(t *testing.T) {
	got, err := handoff.Encode(minimal())
	require.NoError(t, err)
	assert.Equal(t, smallest, string(got))
	assert.Equal(t, "sha256:c67f2454b73e5e3ddda4e987a32377ee710843416a5d2ccee3a7113f9dfca9f0", handoff.Digest(got))
}

func TestRoundTrip(t *testing.T) {
	for name, e := range map[string]*handoff.Envelope{"smallest": minimal(), "full": full()} {
		t.Run(name, func(t *testing.T) {
			b, err := handoff.Encode(e)
			require.NoError(t, err)
			oracle, err := jcs.Transform(b)
			require.NoError(t, err)
			assert.Equal(t, string(oracle), string(b))

			got, err := handoff.Decode(b)
			require.NoError(t, err)
			assert.Equal(t, e, got)
		})
	}
}

// An absent array and an empty one are the same value; options are always there.
func TestEncodeNormalizes(t *testing.T) {
	e := minimal()
	e.CompletedSteps, e.Data = []string{}, map[string]string{}
	e.Questions = []handoff.Question{{Question: "Which?"}}
	b, err := handoff.Encode(e)
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(smallest, `"salt"`, `"questions":[{"options":[],"question":"Which?"}],"salt"`, 1), string(b))
	assert.Nil(t, e.Questions[0].Options, "the caller's envelope is left alone")
	_, err = handoff.Decode(b)
	assert.NoError(t, err)
}

func TestDecodeRefuses(t *testing.T) {
	with := func(old, replacement string) string {
		require.Contains(t, smallest, old)
		return strings.Replace(smallest, old, replacement, 1)
	}
	for name, c := range map[string]struct{ in, reason, message string }{
		"one byte too large":    {smallest + strings.Repeat(" ", handoff.MaxEnvelope-len(smallest)+1), "too_large", "document: 131,073 bytes, limit 131,072"},
		"size before content":   {strings.Repeat("\xff", handoff.MaxEnvelope+1), "too_large", "document"},
		"empty":                 {"", "malformed", "document"},
		"bad UTF-8":             {with("Fix", "F\xff"), "malformed", "not valid UTF-8"},
		"byte order mark":       {"\ufeff" + smallest, "malformed", "byte order mark"},
		"not an object":         {`[]`, "malformed", "an array where an object belongs"},
		"null":                  {`null`, "malformed", "document"},
		"schema missing":        {with(`"schema":"githandoff/1",`, ""), "malformed", "schema: missing"},
		"schema a number":       {with(`"githandoff/1"`, "1"), "malformed", "schema: a number"},
		"schema in other case":  {with(`"schema"`, `"Schema"`), "malformed", "schema: missing"},
		"newer schema":          {with("githandoff/1", "githandoff/2"), "unknown_schema", `schema: "githandoff/2", this version reads "githandoff/1"`},
		"newer schema is first": {`{"schema":"githandoff/2","schema_rules":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]],"a":1,"a":2}`, "unknown_schema", "githandoff/2"},
		"foreign schema":        {`{"schema":"` + strings.Repeat("\u202e", 999) + `"}`, "unknown_schema", `schema: "\u202e`},
		"unknown member":        {with(`"goal"`, `"extra":1,"goal"`), "malformed", "extra: unknown member"},
		"case variant":          {`{"ID":"evil","id":"good","Id":"late","schema":"githandoff/1"}`, "malformed", `ID: must be spelled "id"`},
		"duplicate":             {with(`"goal"`, `"goal":"a","goal"`), "malformed", "goal: appears twice"},
		"trailing newline":      {smallest + "\n", "non_canonical", "first difference at byte 244"},
		"leading space":         {" " + smallest, "non_canonical", "first difference at byte 0"},
		"order":                 {with(`"goal":"Fix the login",`, "") + "", "malformed", "a summary or a goal is required"},
		"members out of order":  {`{"goal":"Fix the login",` + with(`"goal":"Fix the login",`, "")[1:], "non_canonical", "byte 2"},
		"needless escape":       {with("Fix", `\u0046ix`), "non_canonical", "document"},
		"escaped solidus":       {with("Fix", `F\/x`), "non_canonical", "document"},
		"empty array":           {with(`"created_at"`, `"completed_steps":[],"created_at"`), "non_canonical", "document"},
		"empty string":          {with(`"goal"`, `"detail":"","goal"`), "non_canonical", "document"},
		"null array":            {with(`"created_at"`, `"completed_steps":null,"created_at"`), "non_canonical", "document"},
		"null string":           {with(`"goal"`, `"detail":null,"goal"`), "malformed", "detail: null where a string belongs"},
		"no target agent":       {with(`{"agent":"fixer"}`, `{}`), "non_canonical", "document"},
		"no options":            {with(`"salt"`, `"questions":[{"question":"Why?"}],"salt"`), "non_canonical", "document"},
		"bad number form":       {with(`"salt"`, `"origin":{"extra":{"n":1.0},"format":"vox"},"salt"`), "non_canonical", "document"},
		"invalid":               {with("complete", "done"), "malformed", "status: want complete"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := handoff.Decode([]byte(c.in))
			requireRefusal(t, err, c.reason, c.message)
			assert.Nil(t, e)
			if c.reason == "unknown_schema" && strings.Contains(c.in, "githandoff/2") {
				assert.Contains(t, fault.As(err).Advice(), "upgrade")
			}
		})
	}
}

// Escapes make the document larger than the sum of its texts.
func TestEncodeTooLarge(t *testing.T) {
	e := minimal()
	e.Detail = strings.Repeat("\n", handoff.MaxDetail)
	_, err := handoff.Encode(e)
	requireRefusal(t, err, "too_large", "document: 131,")

	e = minimal()
	e.Origin = &handoff.Origin{Format: "vox", Extra: map[string]any{"f": func() {}}}
	_, err = handoff.Encode(e)
	requireRefusal(t, err, "malformed", "unsupported type")
}

func TestCounts(t *testing.T) {
	assert.Equal(t, "steps=0 blockers=0 decisions=0 deliverables=0 files=0", minimal().Counts())
	assert.Equal(t, "steps=2 blockers=1 decisions=2 deliverables=1 files=2", full().Counts())
}

func TestRandomHex(t *testing.T) {
	salt, err := handoff.RandomHex(bytes.NewReader([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f")))
	require.NoError(t, err)
	assert.Equal(t, someSalt, salt)
	_, err = handoff.RandomHex(strings.NewReader("short"))
	assert.Error(t, err)
}

// The order of Strings is fixed: findings in an envelope must not depend on the
// order in which Go walks a map.
func TestStrings(t *testing.T) {
	e := minimal()
	e.Data = map[string]string{"b c": "2", "a": "1"}
	e.Context = &handoff.Context{Decisions: []string{"", "x"}}
	e.Origin = &handoff.Origin{Format: "vox", Extra: map[string]any{"l": []any{1.5, "y", map[string]any{"k": "z"}}}}
	var got []string
	for at, s := range handoff.Strings(e) {
		got = append(got, at.String()+" = "+s)
	}
	assert.Equal(t, []string{
		"schema = githandoff/1", "id = " + someID, "created_at = 2026-11-20T22:00:00Z", "salt = " + someSalt,
		"source.agent = investigator", "target.agent = fixer", "status = complete", "goal = Fix the login",
		"data (a key) = a", "data.a = 1", "data (a key) = b c", `data."b c" = 2`, "context.decisions[1] = x",
		"origin.format = vox", "origin.extra (a key) = l", "origin.extra.l[1] = y",
		"origin.extra.l[2] (a key) = k", "origin.extra.l[2].k = z",
	}, got)

	for at := range handoff.Strings(e) { // the loop may stop anywhere
		if at.Top() == "data" {
			break
		}
	}
}

func FuzzDecode(f *testing.F) {
	whole, err := handoff.Encode(full())
	require.NoError(f, err)
	f.Add(whole)
	f.Add([]byte(smallest))
	f.Add([]byte(`{"ID":"evil","id":"good","Id":"late","schema":"githandoff/1"}`))
	f.Add([]byte(`{"schema":"githandoff/2"}`))
	f.Add(bytes.Replace([]byte(smallest), []byte("goal"), []byte("go\\u0061l"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := handoff.Decode(b)
		if err != nil {
			var refusal *fault.Error
			require.True(t, errors.As(err, &refusal), "not a refusal: %v", err)
			require.Equal(t, fault.Invalid, refusal.Code)
			return
		}
		again, err := handoff.Encode(e)
		require.NoError(t, err)
		require.Equal(t, string(b), string(again))
		oracle, err := jcs.Transform(b)
		require.NoError(t, err)
		require.Equal(t, string(oracle), string(b))
		// A reader that uses only encoding/json gets the same envelope.
		var plain handoff.Envelope
		require.NoError(t, json.Unmarshal(b, &plain))
		require.Equal(t, *e, plain)
	})
}

func FuzzTexts(f *testing.F) {
	f.Add("summary", "detail", "key", "value", 1.5)
	f.Add("\u2028<&>", "\x00\x1f\x7f", "\U0001f600", "\ufb33", -0.0)
	f.Add("\xff", "", "", "", 1e300)
	f.Fuzz(func(t *testing.T, summary, detail, key, value string, n float64) {
		e := minimal()
		e.Summary, e.Detail = summary, detail
		e.Data = map[string]string{key: value, value: key}
		e.CompletedSteps = []string{summary, value}
		e.Origin = &handoff.Origin{Format: "kelos", Extra: map[string]any{key: []any{n, value, nil, true}}}
		b, err := handoff.Encode(e)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		oracle, err := jcs.Transform(b)
		require.NoError(t, err)
		require.Equal(t, string(oracle), string(b))
		got, err := handoff.Decode(b)
		require.NoError(t, err)
		if n == 0 {
			e.Origin.Extra[key].([]any)[0] = 0.0 // -0 and 0 are the same number
		}
		require.Equal(t, e, got)
	})
}
