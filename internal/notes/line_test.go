package notes

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

const (
	goodLine = "2026-11-20T22:00:00Z offered ho_01kajn0000000000000000abcd investigator → fixer@client " + goodSum
	goodSum  = "sha256:5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"
)

func TestLine(t *testing.T) {
	at := time.Date(2026, 11, 20, 23, 0, 0, 5, time.FixedZone("CET", 3600))
	want := ParsedLine{
		At: at.UTC().Truncate(time.Second), Event: "offered", ID: "ho_01kajn0000000000000000abcd",
		From: "investigator", To: "fixer@client", Digest: goodSum,
	}
	assert.Equal(t, goodLine, Line(at, want.Event, want.ID, want.From, want.To, want.Digest))
	got, err := ParseLine(goodLine)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for _, to := range []string{"fixer", "@client", "_", "fixer@Some/Remote_1"} {
		_, err := ParseLine(strings.Replace(goodLine, "fixer@client", to, 1))
		assert.NoError(t, err, to)
	}
}

func TestParseLineRefusals(t *testing.T) {
	for name, change := range map[string][2]string{
		"empty":            {goodLine, ""},
		"line end":         {goodSum, goodSum + "\n"},
		"more text":        {goodSum, goodSum + " hello"},
		"two spaces":       {" offered", "  offered"},
		"a tab":            {" offered", "\toffered"},
		"ASCII arrow":      {"→", "->"},
		"zone":             {"22:00:00Z", "22:00:00+00:00"},
		"fraction":         {"22:00:00Z", "22:00:00.0Z"},
		"no such day":      {"2026-11-20", "2026-11-31"},
		"upper event":      {"offered", "Offered"},
		"no event":         {"offered", ""},
		"id in upper case": {"ho_01kajn", "ho_01KAJN"},
		"short id":         {"abcd", "abc"},
		"agent":            {"investigator", "Investigator"},
		"nobody by name":   {"investigator", "_x"},
		"no party":         {"fixer@client", ""},
		"alias empty":      {"fixer@client", "fixer@"},
		"two aliases":      {"fixer@client", "fixer@client@b"},
		"escape sequence":  {"fixer@client", "fixer@\x1b[31m"},
		"right to left":    {"fixer@client", "fixer@\u202eclient"},
		"digest":           {"sha256:5f", "sha256:5F"},
		"other digest":     {"sha256:", "sha1:"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(goodLine, change[0], change[1], 1)
			require.NotEqual(t, goodLine, bad)
			_, err := ParseLine(bad)
			require.Error(t, err)
			assert.True(t, fault.Is(err, "malformed"))
			for _, r := range err.Error() {
				assert.True(t, r >= ' ' && r != 0x7f && r != 0x202e, "unprintable in %q", err)
			}
		})
	}
}

// The byte order of lines is their order in time: cat_sort_uniq relies on this.
func TestLinesSortByTime(t *testing.T) {
	for i := 1; i < 10_000; i *= 3 {
		assert.Less(t, event(i-1), event(i))
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(goodLine)
	f.Add(strings.Replace(goodLine, "fixer@client", "@client", 1))
	f.Add("")
	f.Add(strings.Repeat(" ", 6))
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseLine(s)
		if err != nil {
			return
		}
		if back := Line(e.At, e.Event, e.ID, e.From, e.To, e.Digest); back != s {
			t.Fatalf("%q comes back as %q", s, back)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' && r != '→' }) {
			t.Fatalf("%q is not printable", s)
		}
	})
}
