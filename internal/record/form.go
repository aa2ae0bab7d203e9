package record

import (
	"fmt"
	"strings"

	"githandoff/internal/handoff"
)

// checkForms keeps prose out of trailers that are shown as facts about a handoff,
// not as the words of who wrote it.
func (r *Record) checkForms() error {
	if who, mark, _ := strings.Cut(r.Principal, " "); r.Principal != "" &&
		(!strings.HasPrefix(who, "user:") || mark != "(declared)" && mark != "(token)") {
		return fmt.Errorf("Handoff-Principal: want user:MAIL (declared) or (token)")
	}
	switch r.Status {
	case "", handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification:
	default:
		return fmt.Errorf("Handoff-Status: %q is none", clip(r.Status))
	}
	if !only(r.Duration, "0123456789hms") {
		return fmt.Errorf("Handoff-Duration: %q is not of the form 1h02m03s", clip(r.Duration))
	}
	return checkCounts(r.Counts)
}

// checkCounts accepts what handoff.Envelope.Counts writes.
func checkCounts(s string) error {
	if s == "" {
		return nil
	}
	counts := strings.Split(s, " ")
	names := []string{"steps", "blockers", "decisions", "deliverables", "files"}
	for i, c := range counts {
		name, n, _ := strings.Cut(c, "=")
		if len(counts) != len(names) || name != names[i] || n == "" || !only(n, "0123456789") {
			return fmt.Errorf("Handoff-Counts: want numbers of %s", strings.Join(names, ", "))
		}
	}
	return nil
}

func only(s, characters string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return !strings.ContainsRune(characters, c) })
}
