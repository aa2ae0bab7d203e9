package handoff

import (
	"fmt"
	"time"
)

const timeLayout = "2006-01-02T15:04:05Z"

// FormatTime writes a time as every record has it: RFC 3339, UTC, whole
// seconds, a fraction cut off.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime reads the output of FormatTime and no other spelling.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	// time.Parse lets a fraction of a second pass where the layout has none.
	if err != nil || FormatTime(t) != s {
		return time.Time{}, fmt.Errorf("%+q is not a time of the form 2026-11-20T22:00:00Z", clip(s))
	}
	return t, nil
}
