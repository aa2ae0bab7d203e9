package handoff_test

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
)

// The table has the vectors of RFC 8785, appendix B, and values next to them.
func TestCanonicalNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555555: "333333333.3333333",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		got, err := handoff.Canonical(math.Float64frombits(bits))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "%016x", bits)
	}
}

func TestCanonical(t *testing.T) {
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		// RFC 8785, 3.2.3: a supplementary character sorts before U+FB33.
		"key order": {
			map[string]int{"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7},
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001f600\":5,\"\ufb33\":3}",
		},
		"prefix first":    {map[string]int{"ab": 1, "a": 2, "": 3}, `{"":3,"a":2,"ab":1}`},
		"escapes":         {"\x00\b\t\n\v\f\r\x1f\"\\/<>&\x7f\u2028\u2029", "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/<>&\x7f\u2028\u2029\""},
		"literals":        {[]any{nil, true, false, []any{}, map[string]any{}}, `[null,true,false,[],{}]`},
		"struct":          {handoff.OBORef{JTI: "b", Path: "a"}, `{"jti":"b","path":"a"}`},
		"raw":             {json.RawMessage(` { "b" : 1.0, "a" : 1E2 } `), `{"a":100,"b":1}`},
		"U+FFFD is valid": {"\ufffd", "\"\ufffd\""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := handoff.Canonical(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	deep := any("x")
	for range handoff.MaxDepth + 1 {
		deep = []any{deep}
	}
	for name, c := range map[string]struct {
		in      any
		message string
	}{
		"bad UTF-8":       {map[string]string{"k": "a\xff"}, "k: not valid UTF-8"},
		"bad UTF-8 key":   {map[string]string{"\xff": "v"}, "(a key): not valid UTF-8"},
		"raw bad UTF-8":   {json.RawMessage("\"\xff\""), "not valid UTF-8"},
		"nested":          {map[string]any{"a": []any{"ok", "\xff"}}, "a[1]: not valid UTF-8"},
		"NaN":             {math.NaN(), "unsupported value"},
		"infinity":        {math.Inf(1), "unsupported value"},
		"function":        {func() {}, "unsupported type"},
		"integer":         {map[string]int64{"n": 1<<53 + 1}, "n: the integer 9007199254740993 is too long"},
		"lone surrogate":  {json.RawMessage(`"\ud800"`), "half a surrogate pair"},
		"duplicate (raw)": {json.RawMessage(`{"a":1,"a":2}`), "a: appears twice"},
		"too deep":        {deep, "nested deeper than 16"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := handoff.Canonical(c.in)
			requireRefusal(t, err, "malformed", c.message)
		})
	}
}

// Every document that the strict reader accepts is encoded to the bytes that jcs produces.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		smallest, `{}`, `[]`, `null`, `"x"`, ` [ 1.0 , -0, 1e21, 1e-7, 123456789012345678 ] `, `"\ud83d\ude00\u0000\/"`, `"\ud800"`,
		`{"\ud83d\ude00":1,"ﬀ":2,"a":{"b":[true,false,null]}}`, `{"a":1,"a":2}`, `[1,]`, `{"a":1,}`, `[1 2]`, `01`, `1.`, `"\x"`, "\ufeff{}",
		"\"\xff\"", `0.10000000000000001`, `4.940656458412465e-324`, `1e400`, `[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]`, `9007199254740993`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v any
		if handoff.ParseStrict(b, &v) != nil {
			return
		}
		got, err := handoff.Canonical(v)
		require.NoError(t, err)
		want, err := jcs.Transform(b)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.True(t, utf8.Valid(got))

		var again any
		require.NoError(t, handoff.ParseStrict(got, &again))
		require.Equal(t, v, again)
	})
}

// The encoding of random doubles is compared with that of jcs.
func FuzzNumber(f *testing.F) {
	for _, bits := range []uint64{0, 1, 0x444b1ae4d6e2ef50, 0x3eb0c6f7a0b5ed8d, 0x4340000000000001, 0x44b52d02c7e14af6} {
		f.Add(bits)
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		n := math.Float64frombits(bits)
		want, err := jcs.NumberToJSON(n)
		got, gotErr := handoff.Canonical(n)
		if err != nil {
			require.Error(t, gotErr)
			return
		}
		require.NoError(t, gotErr)
		require.Equal(t, want, string(got))
	})
}
