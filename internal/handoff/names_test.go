package handoff_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

func TestTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 0, 30, 15, 999, time.FixedZone("", 2*3600))
	assert.Equal(t, "2026-11-20T22:30:15Z", handoff.FormatTime(at))
	got, err := handoff.ParseTime("2026-11-20T22:30:15Z")
	require.NoError(t, err)
	assert.Equal(t, at.Truncate(time.Second).UTC(), got)

	for _, bad := range []string{
		"", "2026-11-20", "2026-11-20T22:00:00", "2026-11-20T22:00:00z", "2026-11-20t22:00:00Z", "2026-11-20T22:00:00.0Z", "2026-11-20T22:00:00,5Z",
		"2026-11-20T22:00:00+00:00", "2026-02-30T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T22:00:60Z", " 2026-11-20T22:00:00Z", "2026-11-20T2:00:00Z",
	} {
		_, err := handoff.ParseTime(bad)
		assert.Error(t, err, bad)
	}
}

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]struct {
		agent *string
		alias string
	}{
		"fixer":          {new("fixer"), ""},
		"fixer@client":   {new("fixer"), "client"},
		"@client":        {nil, "client"},
		"a.b-c_d@Up.2-_": {new("a.b-c_d"), "Up.2-_"},
	} {
		agent, alias, err := handoff.ParseTarget(in)
		require.NoError(t, err, in)
		assert.Equal(t, want.agent, agent, in)
		assert.Equal(t, want.alias, alias, in)
	}
	for _, bad := range []string{
		"", "@", "fixer@", "Fixer", "@-x", "@a/b", "@a..b", "@a.lock", "@a.", "a@b@c", "a b", "a@b c", "@é", "fixer\n", "@" + strings.Repeat("x", 64),
		"../x@client", "a@--upload-pack=x", "\u202e",
	} {
		_, _, err := handoff.ParseTarget(bad)
		require.Error(t, err, "%q", bad)
		assert.Equal(t, fault.Usage, fault.CodeOf(err))
		assert.True(t, fault.Is(err, "invalid_target"))
	}
}

func TestCheckAgent(t *testing.T) {
	for _, ok := range []string{"a", "0", "fixer", "auto-code", "qa_guy.2", strings.Repeat("a", 63)} {
		assert.NoError(t, handoff.CheckAgent(ok), ok)
	}
	for _, bad := range []string{"", "_", "-a", ".a", "A", "a/b", "a..b", "a.lock", "a.", "a b", "a\n", "é", strings.Repeat("a", 64)} {
		assert.Error(t, handoff.CheckAgent(bad), "%q", bad)
	}
}

func TestID(t *testing.T) {
	at := time.UnixMilli(1469918176385) // the example of the ULID specification
	id, err := handoff.NewID(at, bytes.NewReader(make([]byte, 10)))
	require.NoError(t, err)
	assert.Equal(t, handoff.ID("ho_01aryz6s410000000000000000"), id)
	assert.Equal(t, at.UTC(), id.Time())
	assert.Equal(t, "00", id.Lane())
	assert.Equal(t, "…00000000", id.Short())

	_, err = handoff.NewID(at, strings.NewReader("short"))
	assert.Error(t, err)

	derived := handoff.DeriveID(at, "a", "b")
	assert.Equal(t, derived, handoff.DeriveID(at, "a", "b"))
	assert.NotEqual(t, derived, handoff.DeriveID(at, "ab"))
	assert.NotEqual(t, derived, handoff.DeriveID(at.Add(time.Millisecond), "a", "b"))

	assert.True(t, derived.Matches(string(derived)))
	assert.True(t, derived.Matches(derived.Short()))
	assert.True(t, derived.Matches(string(derived[3:])))
	assert.False(t, derived.Matches(string(derived[len(derived)-5:])), "too short")
	assert.False(t, derived.Matches("000000"))
}

func TestCheckSuffix(t *testing.T) {
	for _, ok := range []string{someID, someID[3:], "7k3m2q", "…7k3m2q", "zzzzzzz"} {
		assert.NoError(t, handoff.CheckSuffix(ok), ok)
	}
	for _, bad := range []string{"", "…", "7k3m2", "…7k3m2", "ho_7k3m2q", "7K3M2Q", "LIN-423", "7k3m2i", "7k3 2q", "7k3*2q", "../../x", someID + "0", "0" + someID[3:], "é7k3m2q"} {
		assert.Error(t, handoff.CheckSuffix(bad), bad)
	}
}

func TestTyped(t *testing.T) {
	for typed, want := range map[string]string{
		strings.ToUpper(someID): someID, "7K3M2Q": "7k3m2q", "...7k3m2q": "…7k3m2q", "...7K3M2Q": "…7k3m2q", "…7k3m2q": "…7k3m2q",
		"LIN-423": "LIN-423", "": "", "...": "...", "COLOUR": "COLOUR", "7K3M2": "7K3M2",
	} {
		assert.Equal(t, want, handoff.Typed(typed))
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(someID)
	f.Add("ho_8zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Add("ho_01ARYZ6S41TSV4RRFFQ69G5FAV")
	f.Add("ho_01aryz6s41tsv4rrffq69g5fai")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := handoff.ParseID(s)
		if err != nil {
			return
		}
		require.Equal(t, s, string(id))
		require.Regexp(t, `^ho_[0-7][0-9a-hjkmnp-tv-z]{25}$`, s)
		again, err := handoff.NewID(id.Time(), bytes.NewReader(make([]byte, 10)))
		require.NoError(t, err)
		require.Equal(t, s[:13], string(again[:13]), "the time survives")
	})
}
