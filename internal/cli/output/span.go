package output

import (
	"strconv"
	"time"
)

// Ago prints a moment as people say it.
func Ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < -time.Minute:
		return "in " + Span(-d)
	case d < time.Minute:
		return "just now"
	}
	return Span(d) + " ago"
}

// Span prints a length of time in its largest unit.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}
