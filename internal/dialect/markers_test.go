package dialect_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	start = "---KELOS_HANDOFF_START---"
	end   = "---KELOS_HANDOFF_END---"
)

func TestLastKelosBlock(t *testing.T) {
	pair := func(text string) string { return start + "\n" + text + "\n" + end + "\n" }
	tests := map[string]struct {
		log, want string
		none      bool
	}{
		"none":                  {log: "just\na log\n", none: true},
		"empty":                 {log: "", none: true},
		"one":                   {log: "before\n" + pair(`{"a":1}`) + "after\n", want: `{"a":1}`},
		"the last":              {log: pair("1") + pair("2"), want: "2"},
		"the last complete":     {log: pair("1") + start + "\n2\n", want: "1"},
		"started again":         {log: start + "\n1\n" + pair("2"), want: "2"},
		"only an end":           {log: end + "\n", none: true},
		"an end too many":       {log: pair("1") + end + "\n", want: "1"},
		"several lines":         {log: pair("{\n  \"a\":\t1\n}"), want: "{\n\"a\":\t1\n}"},
		"CRLF":                  {log: "x\r\n" + strings.ReplaceAll(pair("1"), "\n", "\r\n"), want: "1"},
		"no line end at last":   {log: strings.TrimSpace(pair("1")), want: "1"},
		"white space around":    {log: " \t" + start + " \n1\n\t" + end + "  \n", want: "1"},
		"after unended output":  {log: "Done." + pair("1"), want: "1"},
		"text without line end": {log: start + "\n1" + end + "\n", want: "1"},
		"all in one line":       {log: start + "1" + end, want: "1"},
		"end before output":     {log: start + "\n1\n" + end + "bye\n", want: "1"},
		"empty text":            {log: pair(""), want: ""},
		"markers in strings": {
			log:  pair("{\n\"summary\": \"" + end + "\",\n\"detail\": \"" + start + `\n` + end + "\"}"),
			want: "{\n\"summary\": \"" + end + "\",\n\"detail\": \"" + start + `\n` + end + "\"}",
		},
		"a marker spoken of":   {log: pair("1") + "I print " + start + " and then " + end + " around it\n", want: "1"},
		"another kind of pair": {log: pair("1") + "---KELOS_OUTPUTS_START---\n2\n---KELOS_OUTPUTS_END---\n", want: "1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.log), iotest.OneByteReader(strings.NewReader(tt.log))} {
				got, found, err := dialect.LastKelosBlock(r)
				require.NoError(t, err)
				assert.Equal(t, !tt.none, found)
				assert.Equal(t, tt.want, string(got))
			}
		})
	}
}

func TestLastKelosBlockLimit(t *testing.T) {
	log := func(size int) string {
		return start + "\n\"" + strings.Repeat("x", size-2) + "\"\n" + end + "\n"
	}
	got, found, err := dialect.LastKelosBlock(strings.NewReader(log(handoff.MaxEnvelope)))
	require.NoError(t, err)
	assert.True(t, found)
	assert.Len(t, got, handoff.MaxEnvelope)

	for _, size := range []int{handoff.MaxEnvelope + 1, 10 * handoff.MaxEnvelope} {
		_, _, err = dialect.LastKelosBlock(strings.NewReader(log(size)))
		assert.True(t, fault.Is(err, "too_large"), "%v", err)

		got, _, err = dialect.LastKelosBlock(strings.NewReader(log(size) + log(3)))
		require.NoError(t, err, "one that is not the last does no harm")
		assert.Equal(t, `"x"`, string(got))
	}

	// The limit also holds for many short lines, and a long line still has ends.
	_, _, err = dialect.LastKelosBlock(strings.NewReader(start + "\n" + strings.Repeat("x\n", handoff.MaxEnvelope) + end))
	assert.True(t, fault.Is(err, "too_large"), "%v", err)
	long := strings.Repeat("x", 10*handoff.MaxEnvelope)
	got, _, err = dialect.LastKelosBlock(strings.NewReader(long + start + "\n1\n" + end + long + "\n"))
	require.NoError(t, err)
	assert.Equal(t, "1", string(got))
	_, _, err = dialect.LastKelosBlock(strings.NewReader(start + long + end))
	assert.True(t, fault.Is(err, "too_large"), "%v", err)
}

func TestLastKelosBlockReadError(t *testing.T) {
	broken := errors.New("broken pipe")
	_, found, err := dialect.LastKelosBlock(io.MultiReader(strings.NewReader(start+"\n1\n"+end+"\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	assert.False(t, found)
}

// repeat is a reader of n copies of a text.
type repeat struct {
	text []byte
	n    int
	rest []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestLastKelosBlockInConstantMemory(t *testing.T) {
	lines := []byte(strings.Repeat("a line of a log, of which there are many\n", 25000))
	oneLine := bytes.Repeat([]byte("x"), 1<<20)
	log := io.MultiReader(
		strings.NewReader(start+"\n\"first\"\n"+end+"\n"+start+"\n"),
		&repeat{text: lines, n: 100},
		strings.NewReader(start+"\n\"last\"\n"+end+"\n"),
		&repeat{text: oneLine, n: 100},
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, found, err := dialect.LastKelosBlock(log)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, `"last"`, string(got))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "bytes allocated over 200 MB of log")
}

func TestKelosOutputs(t *testing.T) {
	const outputs = "---KELOS_OUTPUTS_START---\nstale: yes\n---KELOS_OUTPUTS_END---\nnoise: no\n" +
		"---KELOS_OUTPUTS_START---\r\nbranch: fix/lin-423\r\nhttps://example.com/pr/7\r\npr: https://example.com/pr/7\r\n\r\n" +
		"empty:\r\nbranch: fix/again\r\nmessage: a: b\r\n---KELOS_OUTPUTS_END---\r\n"
	lines, results, err := dialect.KelosOutputs(strings.NewReader(outputs))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"branch: fix/lin-423", "https://example.com/pr/7", "pr: https://example.com/pr/7", "empty:", "branch: fix/again", "message: a: b",
	}, lines)
	assert.Equal(t, map[string]string{"branch": "fix/again", "pr": "https://example.com/pr/7", "empty": "", "message": "a: b"}, results)

	lines, results, err = dialect.KelosOutputs(strings.NewReader("no markers: here\n"))
	require.NoError(t, err)
	assert.Empty(t, lines)
	assert.Empty(t, results)
}

// Whatever the log, a pair at its end is what comes back.
func FuzzLastKelosBlock(f *testing.F) {
	f.Add("text\n" + start + "\n{}\n" + end + "\n")
	f.Add(start + end + start)
	f.Add(strings.Repeat("\n", 70000) + start)
	f.Fuzz(func(t *testing.T, log string) {
		text, found, err := dialect.LastKelosBlock(strings.NewReader(log))
		if !found || err != nil {
			assert.Empty(t, text)
		}
		got, found, err := dialect.LastKelosBlock(strings.NewReader(log + "\n" + start + "\n{\"summary\":\"s\"}\n" + end + "\n"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, `{"summary":"s"}`, string(got))
	})
}

func TestKelosBlock(t *testing.T) {
	const doc = `{"summary":"---KELOS_HANDOFF_END---","version":1}`
	block, found, err := dialect.LastKelosBlock(bytes.NewReader(dialect.KelosBlock([]byte(doc))))
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, doc, string(block))
}
