package audit

import (
	"strings"
	"time"

	"githandoff/internal/record"
)

// Filter chooses entries of a log. A zero field keeps all.
type Filter struct {
	Since, Until time.Time // an entry of Until itself is left out
	Agent        string    // the sender, the receiver, or the one that signed
	Task         string
	Principal    string // user:alice@example.com
}

// Keeps reports whether the entry of a record is chosen.
func (f Filter) Keeps(r *record.Record) bool {
	switch {
	case !f.Since.IsZero() && r.At.Before(f.Since), !f.Until.IsZero() && !r.At.Before(f.Until):
		return false
	case f.Agent != "" && r.From != f.Agent && r.To != f.Agent && r.Actor != f.Agent:
		return false
	case f.Task != "" && r.Task != f.Task:
		return false
	}
	return f.Principal == "" || strings.HasPrefix(r.Principal, f.Principal+" ")
}
