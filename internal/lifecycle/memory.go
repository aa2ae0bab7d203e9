package lifecycle

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/private"
	"githandoff/internal/record"
)

// UsedTokens lists the tokens used up in this clone, so a hub with another log, or none, does
// not make it forget them. There is one line for each receipt, "<jti> <digest> <id>". The empty
// UsedTokens remembers nothing.
type UsedTokens struct {
	Path string // path of <common git dir>/githandoff/used
}

// maxUsed is the most lines of the file, few enough to be read faster than a hub can be asked. Tokens
// live 7 days at most.
const maxUsed = 8192

// checkUnused refuses, as replayed, a token or an envelope whose handoff ended in this clone.
func (u UsedTokens) checkUnused(id handoff.ID, offer *record.Record) error {
	lines, err := u.lines()
	if err != nil {
		return err
	}
	for _, l := range lines {
		if jti, rest, _ := strings.Cut(l, " "); jti == offer.Token || strings.HasPrefix(rest, offer.Digest+" ") {
			return denied(fault.Replayed, "token %s of handoff %s was used up in this clone", offer.Token, id).
				WithHints(fault.Run("githandoff", "audit").Because("names the handoff; its home lost the receipt"))
		}
	}
	return nil
}

// note remembers the token of an ended handoff. The log decides: a receipt stands even if this
// file cannot be written.
func (u UsedTokens) note(s *State) {
	if u.Path == "" || s == nil || s.Receipt == nil || s.Offer == nil || s.Offer.Token == "" {
		return
	}
	unlock, err := private.Lock(context.Background(), u.Path+".lock") // the lock is held for one write
	if err != nil {
		return
	}
	defer unlock()
	lines, _ := u.lines()
	addLine(u.Path, fmt.Sprintf("%s %s %s\n", s.Offer.Token, s.Offer.Digest, s.ID), len(lines), maxUsed)
}

// addLine adds a line to a file of n lines, if it can. Of most lines, only the newer half stays.
func addLine(path, line string, n, most int) {
	if n >= most {
		if b, err := os.ReadFile(path); err == nil {
			lines := slices.Collect(strings.Lines(string(b)))
			_ = private.WriteFile(path, []byte(strings.Join(lines[max(0, len(lines)-most/2):], "")+line))
		}
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

func (u UsedTokens) lines() ([]string, error) {
	if u.Path == "" {
		return nil, nil
	}
	b, err := private.ReadState(u.Path)
	if err != nil {
		return nil, fmt.Errorf("read the used tokens: %w", err)
	}
	if b == nil {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}

// ClockSkew is how far the clocks of two machines may differ. An entry further ahead of the
// reader's clock does not count yet. An entry further behind those below it never counts.
const ClockSkew = obo.ClockSkew

// Ahead remembers the entries ahead of this clone's clock when it first saw them: one line
// each, "<oid> <time>", with the time it saw them. The lane does not contain this time, and it
// decides two things. First, such an entry never counts once another on top of it is older by
// its own date: the writer of the other one could not see it. Second, a lease in it ends a day
// after this time. The empty Ahead remembers nothing.
type Ahead struct {
	Path string // path of <common git dir>/githandoff/ahead

	since map[string]time.Time // nil until the file is read
}

// maxAhead is the most lines of the file. Only entries by trusted keys get there.
const maxAhead = 4096

// seen returns when this clone first saw an entry ahead of its clock; zero if it never did.
func (a *Ahead) seen(oid string) time.Time {
	if a.since != nil {
		return a.since[oid]
	}
	a.since = map[string]time.Time{}
	if a.Path == "" {
		return time.Time{}
	}
	b, _ := private.ReadState(a.Path)
	for line := range strings.Lines(string(b)) { // skip lines that cannot be read
		oid, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if t, err := handoff.ParseTime(at); err == nil && a.since[oid].IsZero() {
			a.since[oid] = t
		}
	}
	return a.since[oid]
}

// note remembers an entry as ahead of the clock now. A reader without write access judges by
// its clock alone.
func (a *Ahead) note(oid string, now time.Time) {
	if !a.seen(oid).IsZero() {
		return
	}
	a.since[oid] = now
	if a.Path == "" {
		return
	}
	addLine(a.Path, oid+" "+handoff.FormatTime(now)+"\n", len(a.since), maxAhead)
}
