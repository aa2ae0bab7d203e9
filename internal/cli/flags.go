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
	"githandoff/internal/untrusted"
)

// spanFlag is a flag for a duration: in Go's form ("90m", "1h30m"), with weeks and days before it
// ("7d", "1w", "1d12h").
type spanFlag struct {
	to    *time.Duration
	check func(time.Duration) error
}

func spanVar(flags *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	flags.Var(spanFlag{p, checkNotNegative}, name, usage)
}

func leaseVar(flags *pflag.FlagSet, p *time.Duration, value time.Duration, usage string) {
	*p = value
	flags.Var(spanFlag{p, checkLease}, "lease", usage)
}

func checkNotNegative(d time.Duration) error {
	if d < 0 {
		return errors.New("want a duration that is not negative")
	}
	return nil
}

func checkLease(d time.Duration) error {
	if d <= 0 || d > lifecycle.MaxLease {
		return fmt.Errorf("want more than 0 and at most %.0fh", lifecycle.MaxLease.Hours())
	}
	return nil
}

func (s spanFlag) Type() string { return "duration" }

func (s spanFlag) String() string { return spanText(*s.to) }

func (s spanFlag) Set(text string) (err error) {
	if *s.to, err = parseSpan(text); err != nil {
		return err
	}
	return s.check(*s.to)
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

// parseSpan reads a length of time: weeks and days, and then what Go reads as one.
func parseSpan(text string) (time.Duration, error) {
	m := regexp.MustCompile(`(?s)^(?:(\d{1,18})w)?(?:(\d{1,18})d)?(.*)$`).FindStringSubmatch(text)
	weeks, _ := strconv.ParseInt(m[1], 10, 64) // 0 if there are none
	days, _ := strconv.ParseInt(m[2], 10, 64)
	if days += 7 * weeks; days > mostDays {
		return 0, errTooLong
	}
	whole := time.Duration(days) * 24 * time.Hour
	if m[3] == "" && text != "" {
		return whole, nil
	}
	rest, err := time.ParseDuration(m[3])
	switch {
	case err == nil && rest < math.MaxInt64-whole:
		return whole + rest, nil
	case err == nil, tooLong(m[3]):
		return 0, errTooLong
	}
	return 0, errors.New("want a duration such as 90m, 36h or 7d")
}

const mostDays = 106751 // of a time.Duration

var errTooLong = errors.New("want at most 106751d")

// tooLong reports whether a text is a length of time whose number does not fit.
func tooLong(text string) bool {
	return regexp.MustCompile(`^\+?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`).MatchString(text)
}

// paragraph parts the texts of a flag that is given more than once, as -m of git commit does.
const paragraph = "\n\n"

// paragraphsVar declares a flag for the text of a step.
func paragraphsVar(flags *pflag.FlagSet, p *string, name, usage string) {
	flags.FuncP(name, "m", usage, func(text string) error {
		if *p != "" && text != "" {
			*p += paragraph
		}
		*p += text
		return nil
	})
}

// targetFlag is a flag for the one receiver of a handoff. A second one is refused: it would get
// nothing, or the first one would.
type targetFlag string

func targetVar(flags *pflag.FlagSet, p *string, usage string) {
	flags.Var((*targetFlag)(p), "to", usage)
}

func (t *targetFlag) Type() string { return "string" }

func (t *targetFlag) String() string { return string(*t) }

func (t *targetFlag) Set(target string) error {
	if *t != "" && target != string(*t) {
		return fmt.Errorf("a handoff has one target, but %s is already named", untrusted.Line(string(*t)))
	}
	*t = targetFlag(target)
	return nil
}
