package handoff_test

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/handoff"
)

type base struct {
	Kind string `json:"kind"`
}

type document struct {
	base
	Name   string              `json:"name"`
	Agent  *string             `json:"agent"`
	Count  int                 `json:"count"`
	Live   bool                `json:"live"`
	Inner  struct{ Depth int } `json:"inner"`
	List   []base              `json:"list"`
	Data   map[string]string   `json:"data"`
	Any    any                 `json:"any"`
	At     time.Time           `json:"at"`
	Raw    json.RawMessage     `json:"raw"`
	Number json.Number         `json:"number"`
	Hidden string              `json:"-"`
}

func TestParseStrict(t *testing.T) {
	var d document
	require.NoError(t, handoff.ParseStrict([]byte(` {"name":"n","agent":null,"kind":"k","count":3,"live":true,
		"inner":{"Depth":1},"list":[{"kind":"a"}],"data":{"A":"1","a":"2"},"any":{"Any":[1,{"any":null}],"any":2},
		"at":"2026-11-20T22:00:00Z","raw":{"x":1},"number":12.5} `), &d))
	assert.Equal(t, "k", d.Kind)
	assert.Equal(t, map[string]string{"A": "1", "a": "2"}, d.Data, "keys of an open object are not folded")
	assert.Equal(t, json.Number("12.5"), d.Number)
	assert.Equal(t, 2026, d.At.Year())
	assert.Nil(t, d.Agent)

	var v any
	require.NoError(t, handoff.ParseStrict([]byte("null"), &v))
	assert.Nil(t, v)
	require.NoError(t, handoff.ParseStrict([]byte(`"\ud83d\ude00 \\ud800 \\\\"`), &v))
	assert.Equal(t, "\U0001f600 \\ud800 \\\\", v)
}

func TestParseStrictRefuses(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct{ in, message string }{
		"empty":                   {"", "document: unexpected end"},
		"trailing bytes":          {`{} x`, "document: invalid character 'x' after top-level value at line 1, column 4"},
		"two values":              {`{}{}`, "after top-level value"},
		"trailing comma":          {`{"name":"n",}`, "document: a comma too many: invalid character '}' looking for beginning of object key string at line 1, column 13"},
		"trailing comma, array":   {"{\n  \"é\": [1, 2,\n] }", "document: a comma too many: invalid character ']' looking for beginning of value at line 3, column 1"},
		"no end":                  {"{\"name\":\n\"n\"", "document: unexpected end of JSON input at line 2, column 3"},
		"byte order mark":         {"\ufeff{}", "begins with a byte order mark"},
		"bad UTF-8":               {"{\"name\":\"\xc0\xaf\"}", "not valid UTF-8"},
		"surrogate in UTF-8":      {"{\"name\":\"\xed\xa0\x80\"}", "not valid UTF-8"},
		"high surrogate":          {`{"name":"\ud83d"}`, "half a surrogate pair at line 1, column 10"},
		"low surrogate":           {`{"name":"\ude00"}`, "half a surrogate pair"},
		"surrogates reversed":     {`{"name":"\ude00\ud83d"}`, "half a surrogate pair"},
		"surrogate, then escape":  {`{"name":"\ud83d\n"}`, "half a surrogate pair"},
		"surrogate in a name":     {`{"\ud83d":1}`, "half a surrogate pair"},
		"duplicate":               {`{"name":"a","name":"a"}`, "name: appears twice"},
		"duplicate by escape":     {`{"name":"a","n\u0061me":"a"}`, "name: appears twice"},
		"duplicate deep":          {`{"any":[{"a":{"b":1,"b":2}}]}`, "any[0].a.b: appears twice"},
		"duplicate key of a map":  {`{"data":{"a":"1","a":"2"}}`, "data.a: appears twice"},
		"other case":              {`{"Name":"a"}`, `Name: must be spelled "name"`},
		"other case, Kelvin sign": {`{"` + "\u212a" + `ind":"a"}`, `must be spelled "kind"`},
		"other case, long s":      {`{"li` + "\u017f" + `t":[]}`, `must be spelled "list"`},
		"both cases":              {`{"name":"a","NAME":"b"}`, `NAME: must be spelled "name"`},
		"unknown":                 {`{"colour":"red"}`, "colour: unknown member"},
		"unknown, hidden field":   {`{"Hidden":"red"}`, "Hidden: unknown member"},
		"unknown, deep":           {`{"list":[{"kind":"a"},{"kin":"a"}]}`, "list[1].kin: unknown member"},
		"unknown, hostile name":   {"{\"a\\u001b[2J\u202e" + strings.Repeat("b", 9999) + `":1}`, `"a\x1b[2J\u202ebbb`},
		"string for object":       {`{"inner":"x"}`, "inner: a string where an object belongs"},
		"object for string":       {`{"name":{}}`, "name: an object where a string belongs"},
		"number for string":       {`{"list":[{"kind":1}]}`, "list[0].kind: a number where a string belongs"},
		"string for number":       {`{"count":"1"}`, "count: a string where a number belongs"},
		"fraction for integer":    {`{"count":1.5}`, "count: number 1.5 does not fit"},
		"number for boolean":      {`{"live":0}`, "live: a number where a boolean belongs"},
		"array for object":        {`{"data":[]}`, "data: an array where an object belongs"},
		"boolean for array":       {`{"list":true}`, "list: a boolean where an array belongs"},
		"null for string":         {`{"name":null}`, "name: null where a string belongs"},
		"null element":            {`{"list":[null]}`, "list[0]: null where an object belongs"},
		"null document":           {`null`, "document: null where an object belongs"},
		"array document":          {`[]`, "document: an array where an object belongs"},
		"integer too long":        {`{"any":{"n":9007199254740993}}`, "any.n: the integer 9007199254740993 is too long"},
		"number too large":        {`{"any":1e400}`, "any: the number 1e400 is out of range"},
		"fraction too long":       {`{"any":0.1234567890123456789}`, "any: the number 0.1234567890123456789 has digits that a number does not keep; write it as a string"},
		"number too small":        {`{"any":1e-400}`, "any: the number 1e-400 has digits"},
		"exponent too small":      {`{"any":1e-99999999999999999999}`, "any: the number 1e-999"},
		"integer with a point":    {`{"any":9007199254740993.0}`, "any: the number 9007199254740993.0 has digits"},
		"integer as a power":      {`{"any":-9.007199254740993e15}`, "any: the number -9.007199254740993e15 has digits"},
		"depth 17":                {`{"any":` + nest(16) + `}`, "nested deeper than 16"},
		"bad time":                {`{"at":"yesterday"}`, "decode JSON: "},
	} {
		t.Run(name, func(t *testing.T) {
			var d document
			requireRefusal(t, handoff.ParseStrict([]byte(c.in), &d), "malformed", c.message)
		})
	}
	var d document
	assert.NoError(t, handoff.ParseStrict([]byte(`{"any":`+nest(15)+`}`), &d), "depth 16 is within the limit")
	assert.Error(t, handoff.ParseStrict([]byte(`{}`), d), "a value cannot be filled in")
}

// Numbers of other writers keep their value: any form in which a program prints a double, and any number with up
// to 15 digits.
func TestParseStrictKeepsNumbers(t *testing.T) {
	for _, literal := range []string{
		"0", "-0", "0.0", "0e9", "-0.000E-5", "1.10", "1E2", "100e-2", "0.1", "0.10000000000000001", "123456789012345e290", "2.2250738585072014e-308", "5e-324",
		"9007199254740992.0", "9007199254740992", "12345678901234500000",
		"5.960464477539062e-08", "-5.960464477539063e-08", // 2^-24 lies halfway between them
	} {
		var v any
		require.NoError(t, handoff.ParseStrict([]byte(literal), &v), literal)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-1e300, 1e300).Draw(t, "number")
		for _, literal := range []string{
			strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'e', 16, 64), strconv.FormatFloat(f, 'e', 14, 64), strconv.FormatFloat(f, 'E', 20, 64),
		} {
			var v any
			if handoff.ParseStrict([]byte(literal), &v) != nil {
				assert.Contains(t, literal, "E", "what is read is what is written")
				continue
			}
			if literal == strconv.FormatFloat(v.(float64), 'e', -1, 64) {
				continue // the shortest digits may be above a tie, and the nearest ones below it
			}
			mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
			exact, _ := new(big.Rat).SetString(literal)
			written, _ := new(big.Rat).SetString(strconv.FormatFloat(v.(float64), 'e', len(strings.Trim(mantissa, "-"))-2, 64))
			assert.Zero(t, exact.Cmp(written), literal)
		}
	})
}

func TestParseStrictCountsLinesOfTheFile(t *testing.T) {
	var v any
	for in, message := range map[string]string{
		"{\n\"a\": }": "at line 12, column 6", `{"a":"\ud83d"}`: "half a surrogate pair at line 11, column 7",
	} {
		requireRefusal(t, handoff.ParseStrictAfter(10, []byte(in), &v), "malformed", message)
	}
}

// Hostile input of the largest size must be parsed in a short time.
func TestParseStrictIsLinear(t *testing.T) {
	const n = handoff.MaxEnvelope
	for name, in := range map[string]string{
		"brackets":      strings.Repeat("[", n),
		"elements":      "[" + strings.Repeat("1,", n/2-2) + "1]",
		"objects":       `{"lineage":[` + strings.Repeat("{},", n/3-20) + "{}]}",
		"backslashes":   `"` + strings.Repeat(`\\`, n/2-1) + `"`,
		"long name":     `{"` + strings.Repeat("k", n/2) + `":[` + strings.Repeat("0,", n/4-20) + "0]}",
		"digits":        strings.Repeat("9", n),
		"fraction":      "0." + strings.Repeat("9", n-2),
		"unknown names": `{"a":1` + strings.Repeat(`,"aaaa":{}`, n/20) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var e handoff.Envelope
			var v any
			_ = handoff.ParseStrict([]byte(in), &e)
			_ = handoff.ParseStrict([]byte(in), &v)
			assert.Less(t, time.Since(start), time.Minute)
		})
	}
}
