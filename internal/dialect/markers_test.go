package dialect_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
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
		none, cut bool
	}{
		"none":                  {log: "just\na log\n", none: true},
		"empty":                 {log: "", none: true},
		"one":                   {log: "before\n" + pair(`{"a":1}`) + "after\n", want: `{"a":1}`},
		"the last":              {log: pair("1") + pair("2"), want: "2"},
		"the last complete":     {log: pair("1") + start + "\n2\n", want: "1", cut: true},
		"cut within the text":   {log: start + "\n{\"summary\":", none: true, cut: true},
		"cut behind the start":  {log: "Done." + start, none: true},
		"cut behind a line":     {log: "x\n" + start + "\n", none: true, cut: true},
		"cut, start unended":    {log: pair("1") + "Done." + start + "\n{\n", want: "1", cut: true},
		"cut within the end":    {log: pair("1") + start + "\n{}\n" + end[:20], want: "1", cut: true},
		"cut within the start":  {log: pair("1") + "x\n" + start[:20], want: "1", cut: true},
		"cut early in it":       {log: pair("1") + start[:4], want: "1", cut: true},
		"cut start, prefixed":   {log: pair("1") + "2026-01-01T00:00:00Z " + start[:9], want: "1", cut: true},
		"cut in the first one":  {log: "x\n" + start[:20], none: true, cut: true},
		"half a start, a line":  {log: pair("1") + start[:20] + "\n", want: "1"},
		"half a start, spoken":  {log: pair("1") + "I print " + start[:20], want: "1"},
		"dashes at the end":     {log: pair("1") + start[:3], want: "1"},
		"started, then ended":   {log: start + "\n{\n" + pair("1"), want: "1"},
		"spoken of at the end":  {log: pair("1") + "I print " + start + "\nand go on\n", want: "1"},
		"started again":         {log: start + "\n1\n" + pair("2"), want: "2"},
		"only an end":           {log: end + "\n", none: true},
		"an end too many":       {log: pair("1") + end + "\n", want: "1"},
		"several lines":         {log: pair("{\n  \"a\":\t1\n}"), want: "{\n\"a\":\t1\n}"},
		"lines without text":    {log: pair("\n\n{\n\n1}\n\n"), want: "{\n\n1}"},
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
				got, err := dialect.LastKelosBlock(r)
				require.NoError(t, err)
				assert.Equal(t, !tt.none, got.Found)
				assert.Equal(t, tt.want, string(got.Text))
				assert.Equal(t, tt.cut, got.Cut)
			}
		})
	}
}

func TestLastKelosBlockLimit(t *testing.T) {
	log := func(size int) string {
		return start + "\n\"" + strings.Repeat("x", size-2) + "\"\n" + end + "\n"
	}
	got, err := dialect.LastKelosBlock(strings.NewReader(log(handoff.MaxEnvelope)))
	require.NoError(t, err)
	assert.True(t, got.Found)
	assert.Len(t, got.Text, handoff.MaxEnvelope)

	for _, size := range []int{handoff.MaxEnvelope + 1, 10 * handoff.MaxEnvelope} {
		_, err = dialect.LastKelosBlock(strings.NewReader(log(size)))
		assert.True(t, fault.Is(err, "too_large"), "%v", err)

		got, err = dialect.LastKelosBlock(strings.NewReader(log(size) + log(3)))
		require.NoError(t, err, "one that is not the last does no harm")
		assert.Equal(t, `"x"`, string(got.Text))
	}

	// The limit also holds for many short lines, and the end of a long line is still found.
	_, err = dialect.LastKelosBlock(strings.NewReader(start + "\n" + strings.Repeat("x\n", handoff.MaxEnvelope) + end))
	assert.True(t, fault.Is(err, "too_large"), "%v", err)
	long := strings.Repeat("x", 10*handoff.MaxEnvelope)
	got, err = dialect.LastKelosBlock(strings.NewReader(long + start + "\n1\n" + end + long + "\n"))
	require.NoError(t, err)
	assert.Equal(t, "1", string(got.Text))
	_, err = dialect.LastKelosBlock(strings.NewReader(start + long + end))
	assert.True(t, fault.Is(err, "too_large"), "%v", err)
}

func TestLastKelosBlockReadError(t *testing.T) {
	broken := errors.New("broken pipe")
	got, err := dialect.LastKelosBlock(io.MultiReader(strings.NewReader(start+"\n1\n"+end+"\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	assert.False(t, got.Found)
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
	got, err := dialect.LastKelosBlock(log)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.True(t, got.Found)
	assert.Equal(t, `"last"`, string(got.Text))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "bytes allocated over 200 MB of log")
}

func results(t *testing.T, log string) ([]string, map[string]string) {
	t.Helper()
	l, err := dialect.ReadLog(strings.NewReader(log))
	require.NoError(t, err)
	lines, results, err := l.Results()
	require.NoError(t, err)
	return lines, results
}

func TestKelosOutputs(t *testing.T) {
	const outputs = "---KELOS_OUTPUTS_START---\nstale: yes\n---KELOS_OUTPUTS_END---\nnoise: no\n" +
		"---KELOS_OUTPUTS_START---\r\nbranch: fix/lin-423\r\nhttps://example.com/pr/7\r\npr: https://example.com/pr/7\r\n\r\n" +
		"empty:\r\nblank:  \r\nwide : x\r\nfar:  y\r\n: z\r\nbranch: fix/again\r\nmessage: a: b\r\n---KELOS_OUTPUTS_END---\r\n"
	lines, got := results(t, outputs)
	assert.Equal(t, []string{
		"branch: fix/lin-423", "https://example.com/pr/7", "pr: https://example.com/pr/7", "empty:", "blank:", "wide : x", "far:  y", ": z",
		"branch: fix/again", "message: a: b",
	}, lines)
	assert.Equal(t, map[string]string{
		"branch": "fix/again", "pr": "https://example.com/pr/7", "wide ": "x", "far": " y", "message": "a: b",
	}, got, "as Kelos reads them")

	for _, none := range []string{"no markers: here\n", outputs + "---KELOS_OUTPUTS_START---\nbranch: cut\n"} {
		lines, got = results(t, none)
		assert.Empty(t, lines)
		assert.Nil(t, got)
	}
}

// A pair of markers at the end of a log is found, whatever precedes it.
func FuzzLastKelosBlock(f *testing.F) {
	f.Add("text\n" + start + "\n{}\n" + end + "\n")
	f.Add(start + end + start)
	f.Add(strings.Repeat("\n", 70000) + start)
	f.Fuzz(func(t *testing.T, log string) {
		got, err := dialect.LastKelosBlock(strings.NewReader(log))
		if !got.Found || err != nil {
			assert.Empty(t, got.Text)
		}
		got, err = dialect.LastKelosBlock(strings.NewReader(log + "\n" + start + "\n{\"summary\":\"s\"}\n" + end + "\n"))
		require.NoError(t, err)
		assert.True(t, got.Found)
		assert.False(t, got.Cut)
		assert.Equal(t, `{"summary":"s"}`, string(got.Text))
	})
}

func TestKelosBlock(t *testing.T) {
	for _, doc := range []string{
		`{"summary":"---KELOS_HANDOFF_END---","version":1}`,
		`{"---KELOS_HANDOFF_START---":"x","summary":"\\---KELOS_HANDOFF_START---\n----KELOS_OUTPUTS_END---","version":1}`,
	} {
		printed := string(dialect.KelosBlock([]byte(doc)))
		got, err := dialect.LastKelosBlock(strings.NewReader(printed))
		require.NoError(t, err)
		assert.True(t, got.Found)
		assert.JSONEq(t, doc, string(got.Text))
		// This reader finds the last markers anywhere in the text.
		last := printed[:strings.LastIndex(printed, end)]
		last = last[strings.LastIndex(last, start)+len(start):]
		assert.JSONEq(t, doc, last)
		assert.NotContains(t, last, "---KELOS_OUTPUTS")
	}
}

// The error about a log with markers does not claim that it has none.
func TestHandoffTextIsNoDocument(t *testing.T) {
	for text, want := range map[string]string{
		"done":                   "format kelos: line 3 of the log: the text between the markers is not JSON",
		"01E {}":                 "format kelos: line 3 of the log: the text between the markers is not JSON",
		"":                       "",
		"{":                      "", // the reader of the document reports the error
		"7":                      "",
		"```json\n{}\n```":       "",
		"{\"summary\":\"done\"}": "",
	} {
		log, err := dialect.ReadLog(strings.NewReader("x\n" + start + "\n" + text + "\n" + end + "\n"))
		require.NoError(t, err)
		got, err := log.HandoffText()
		if want != "" {
			assert.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
	}
}

// Log collectors put times, names and colours around lines.
func TestLogPrefixes(t *testing.T) {
	const doc = "{\n  \"summary\": \"[1] 2026-01-01T00:00:00Z | x\",\n  \"list\": [\n    [1, 2],\n    [3]\n  ]\n}"
	for name, prefix := range map[string]func(i int) string{
		"kubectl logs --timestamps": func(i int) string { return []string{"2026-11-22T04:38:01.1Z ", "2026-11-22T04:38:02.123456789Z "}[i%2] },
		"kubectl logs --prefix":     func(int) string { return "[pod/investigate-7f6b/agent] " },
		"both":                      func(i int) string { return fmt.Sprintf("[pod/investigate-7f6b/agent] 2026-11-22T04:38:%02d.5Z ", i) },
		"GitHub Actions":            func(i int) string { return fmt.Sprintf("2026-11-22T04:38:%02d.1234567Z ", i) },
		"docker compose":            func(int) string { return "agent-1  | " },
		"docker compose, colour":    func(int) string { return "\x1b[36magent-1  |\x1b[0m " },
		"syslog":                    func(i int) string { return fmt.Sprintf("Nov %2d 04:38:%02d host agent[42]: ", 9+i%2, i) },
		"a clock":                   func(i int) string { return fmt.Sprintf("[04:38:%02d] ", i) },
		"quoted":                    func(int) string { return "> " },
		"colour":                    func(int) string { return "\x1b[1;32m" },
		"Buildkite":                 func(i int) string { return fmt.Sprintf("\x1b_bk;t=17637864%02d123\x07", i) },
		"title and colour":          func(int) string { return "\x1b]0;agent\x07\x1b[38;5;196m" },
	} {
		t.Run(name, func(t *testing.T) {
			printed := func(text string) string {
				var log strings.Builder
				for i, line := range strings.Split("hello\n"+start+"\n"+text+"\n"+end+"\nbye", "\n") {
					log.WriteString(prefix(i) + line + "\x1b[0m\r\n")
				}
				return log.String()
			}
			got, err := dialect.LastKelosBlock(strings.NewReader(printed("{}") + printed(doc)))
			require.NoError(t, err)
			assert.True(t, got.Found)
			assert.JSONEq(t, doc, string(got.Text))

			got, err = dialect.LastKelosBlock(strings.NewReader(printed("{}") + strings.TrimSuffix(printed(doc), prefix(9)+end+"\x1b[0m\r\n"+prefix(10)+"bye\x1b[0m\r\n")))
			require.NoError(t, err)
			assert.True(t, got.Cut)
		})
	}
}

func TestLogPrefixKeepsToItself(t *testing.T) {
	for name, tt := range map[string]struct{ log, want string }{
		"another pod between":   {"[pod/a-1/c] " + start + "\n[pod/b-2/c] noise\n[pod/a-1/c] 1\n[pod/b-2/c] noise\n[pod/a-1/c] " + end + "\n", "1"},
		"another name between":  {"a-1  | " + start + "\nb-22 | noise\na-1  | 1\na-1  | " + end + "\n", "1"},
		"text of that form":     {"a | " + start + "\na | {\na | \"b\": \"| c\"\na | }\na | " + end + "\n", "{\n\"b\": \"| c\"\n}"},
		"no prefix, no gap":     {"Done." + start + "\nDone.\n" + end + "\n", "Done."},
		"a line without prefix": {"2026-11-22T04:38:01Z " + start + "\n1\n2026-11-22T04:38:01Z " + end + "\n", "1"},
		"all in one line":       {"2026-11-22T04:38:01Z " + start + "1" + end + "\n", "1"},
		"byte order mark":       {"\ufeff2026-11-22T04:38:01Z " + start + "\n2026-11-22T04:38:01Z 1\n2026-11-22T04:38:01Z " + end + "\n", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dialect.LastKelosBlock(strings.NewReader(tt.log))
			require.NoError(t, err)
			assert.True(t, got.Found)
			assert.Equal(t, tt.want, string(got.Text))
		})
	}
}

// An agent left no handoff, so its last message is used.
func TestResponse(t *testing.T) {
	log := func(outputs ...string) dialect.Log {
		l, err := dialect.ReadLog(strings.NewReader("---KELOS_OUTPUTS_START---\n" + strings.Join(outputs, "\n") + "\n---KELOS_OUTPUTS_END---\n"))
		require.NoError(t, err)
		return l
	}
	response := func(s string) string { return "response: " + base64.StdEncoding.EncodeToString([]byte(s)) }

	doc, err := log("branch: fix/1", response("\nNil session.\nIn auth.go.\r\n\r\nMore: \u00e9\n"), "pr: 7").Response()
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":1,"summary":"Nil session.\nIn auth.go.","detail":"\nNil session.\nIn auth.go.\r\n\r\nMore: é\n","data":{"branch":"fix/1","pr":"7"}}`, string(doc))
	d, err := dialect.Import("", doc)
	require.NoError(t, err)
	assert.Equal(t, dialect.Kelos, d.Format)

	long := strings.Repeat("größer ", 1000)
	doc, err = log(response(long)).Response()
	require.NoError(t, err)
	d, err = dialect.Import("", doc)
	require.NoError(t, err)
	assert.Equal(t, long, d.Envelope.Detail)
	assert.Greater(t, len(d.Envelope.Summary), 4000)
	assert.True(t, strings.HasSuffix(d.Envelope.Summary, "größer …"), "%q", d.Envelope.Summary[4000:])

	for _, none := range []dialect.Log{{}, log("branch: x"), log("response: "), log(response(" \n"))} {
		doc, err = none.Response()
		require.NoError(t, err)
		assert.Nil(t, doc)
	}
	for _, bad := range []string{"response: plain text", response("\xff"), "response: " + strings.Repeat("QUJD", handoff.MaxEnvelope/4)} {
		_, err = log(bad).Response()
		assert.Equal(t, fault.Invalid, fault.CodeOf(err), "%v", err)
	}
}
