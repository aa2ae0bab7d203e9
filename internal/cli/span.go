package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/lifecycle"
)

// spanFlag is a flag for a duration: in Go's form ("90m", "1h30m"), with weeks and days before it
// ("7d", "1w", "1d12h").
type spanFlag time.Duration

func spanVar(flags *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	flags.Var((*spanFlag)(p), name, usage)
}

// leaseFlag is a spanFlag for a lease.
type leaseFlag struct{ *spanFlag }

func leaseVar(flags *pflag.FlagSet, p *time.Duration, value time.Duration, usage string) {
	*p = value
	flags.Var(leaseFlag{(*spanFlag)(p)}, "lease", usage)
}

func (l leaseFlag) Set(text string) error {
	d, err := parseSpan(text)
	if err == nil && (d <= 0 || d > lifecycle.MaxLease) {
		err = fmt.Errorf("want more than 0 and at most %.0fh", lifecycle.MaxLease.Hours())
	}
	if err == nil {
		*l.spanFlag = spanFlag(d)
	}
	return err
}

func (s *spanFlag) Type() string { return "duration" }

func (s *spanFlag) String() string { return spanText(time.Duration(*s)) }

func (s *spanFlag) Set(text string) error {
	d, err := parseSpan(text)
	if err == nil && d < 0 {
		err = errors.New("want a duration that is not negative")
	}
	*s = spanFlag(d)
	return err
}

// spanText spells a length of time as people type it: "7d", "36h", "1h30m".
func spanText(d time.Duration) string {
	const day = 24 * time.Hour
	if d == 0 {
		return "0"
	}
	if d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	for _, unit := range []string{"0s", "0m"} {
		if rest, ok := strings.CutSuffix(text, unit); ok && strings.HasSuffix(rest, "m") || ok && strings.HasSuffix(rest, "h") {
			text = rest
		}
	}
	return text
}

// parseSpan reads a length of time.
func parseSpan(text string) (time.Duration, error) {
	days, rest, err := leadingDays(text)
	if err != nil {
		return 0, err
	}
	var d time.Duration
	if rest != "" || text == "" {
		if d, err = time.ParseDuration(rest); err != nil {
			if tooLong(rest) {
				return 0, errTooLong
			}
			return 0, errors.New("want a duration such as 90m, 36h or 7d")
		}
	}
	total := days*24*float64(time.Hour) + float64(d)
	if math.Abs(total) >= math.MaxInt64 {
		return 0, errTooLong
	}
	return time.Duration(days*24)*time.Hour + d, nil
}

var errTooLong = errors.New("want at most 106751d") // longest time.Duration, in days

// leadingDays takes weeks and days off the front.
func leadingDays(text string) (days float64, rest string, err error) {
	m := regexp.MustCompile(`^(?:(\d{1,18})w)?(?:(\d{1,18})d)?`).FindStringSubmatch(text)
	for i, perUnit := range []float64{7, 1} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseFloat(m[i+1], 64)
		if err != nil {
			return 0, "", err
		}
		days += n * perUnit
	}
	if days*24*float64(time.Hour) >= math.MaxInt64 {
		return 0, "", errTooLong
	}
	return days, text[len(m[0]):], nil
}

// tooLong reports whether a text is a length of time whose number does not fit.
func tooLong(text string) bool {
	return regexp.MustCompile(`^\+?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`).MatchString(text)
}
