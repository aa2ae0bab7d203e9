package cli

import (
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSpan(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "1w": 7 * day, "2w3d": 17 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0": 0, "0d": 0, "-5m": -5 * time.Minute, "1.5h": 90 * time.Minute,
	} {
		got, err := parseSpan(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":                   "want a duration such as 90m, 36h or 7d",
		"7":                  "want a duration such as 90m, 36h or 7d",
		"7days":              "want a duration such as 90m, 36h or 7d",
		"3d1w":               "want a duration such as 90m, 36h or 7d",
		"9999999h":           "want at most 106751d",
		"999999999999d":      "want at most 106751d",
		"106751d24h":         "want at most 106751d",
		"99999999999999999w": "want at most 106751d",
	} {
		_, err := parseSpan(text)
		assert.EqualError(t, err, want)
	}
}

// The text that shows a default is read as that default.
func TestSpanText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		7 * 24 * time.Hour: "7d", time.Hour: "1h", 90 * time.Minute: "1h30m", 36 * time.Hour: "36h", 0: "0", 10 * time.Second: "10s", 100 * time.Minute: "1h40m", time.Hour + 10*time.Second: "1h0m10s",
	} {
		assert.Equal(t, want, spanText(d))
	}
	require.NoError(t, quick.Check(func(n int64) bool {
		d := time.Duration(n >> 13)
		got, err := parseSpan(spanText(d))
		return err == nil && got == d
	}, nil))
}

// left says for how long a time has been over, and not since when.
func TestLeft(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	assert.Equal(t, "59m left", left(now, now.Add(59*time.Minute+time.Second)))
	assert.Equal(t, "5m over", left(now, now.Add(-5*time.Minute)))
}
