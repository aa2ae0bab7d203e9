package obo

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// lastSecond is the end of the year 9999, the last second RFC 3339 can write.
const lastSecond = 253402300799

// Validate checks everything a token must be by itself. Refusals have the code fault.Invalid
// and the reason malformed; the message names the claim.
func (c *Claims) Validate() error {
	for _, check := range []func() error{c.checkNames, c.checkLists, c.checkTimes, c.checkPlace} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Claims) checkNames() error {
	switch {
	case c.Type != Type:
		return malformed("typ", "want %q", Type)
	case !handoff.IsTokenID(c.JTI):
		return malformed("jti", "want obo_ and 32 lower-case hex digits")
	case !handoff.IsKeyID(c.Issuer):
		return malformed("iss", "want the name of a key: openpgp:<40 hex digits> or ssh:SHA256:<43 characters>")
	case !IsPrincipal(c.Subject):
		return malformed("sub", "want a principal of the form user:alice@example.com")
	}
	if err := handoff.CheckAgent(c.Actor.Subject); err != nil {
		return malformed("act.sub", "%w", err)
	}
	return nil
}

func (c *Claims) checkLists() error {
	for _, l := range []struct {
		name  string
		list  []string
		limit int
		check func(string) error
	}{
		{"cnf.kids", c.Confirmation.Keys, maxKeys, checkKey},
		{"aud", c.Audience, maxAudience, checkRepoID},
		{"scope", c.Scope, MaxScopes, checkScope},
	} {
		if n := len(l.list); n < 1 || n > l.limit {
			return malformed(l.name, "%d entries, want 1 to %d", n, l.limit)
		}
		for i, s := range l.list {
			if err := l.check(s); err != nil {
				return malformed(fmt.Sprintf("%s[%d]", l.name, i), "%w", err)
			}
			if i > 0 && l.list[i-1] >= s {
				return malformed(l.name, "not sorted, or has duplicates")
			}
		}
	}
	return nil
}

func (c *Claims) checkTimes() error {
	switch {
	case c.IssuedAt < 1 || c.IssuedAt > lastSecond:
		return malformed("iat", "not a time")
	case c.ExpiresAt <= c.IssuedAt || c.ExpiresAt > lastSecond:
		return malformed("exp", "not a time after iat")
	case c.ExpiresAt-c.IssuedAt > int64(MaxLifetime/time.Second):
		return malformed("exp", "more than %d days after iat", MaxLifetime/(24*time.Hour))
	}
	return nil
}

func (c *Claims) checkPlace() error {
	if _, err := handoff.ParseID(string(c.Handoff.ID)); err != nil {
		return malformed("handoff.id", "%w", err)
	}
	switch {
	case !handoff.IsHex(c.Handoff.SHA256, 64):
		return malformed("handoff.sha256", "want 64 lower-case hex digits")
	case c.MaxDepth < 0 || c.MaxDepth >= MaxLinks:
		return malformed("del_max_depth", "want 0 to %d", MaxLinks-1)
	case c.ParentHash != "" && !handoff.IsHex(c.ParentHash, 64):
		return malformed("par_hash", "want 64 lower-case hex digits")
	}
	return nil
}

func checkKey(s string) error {
	if !handoff.IsKeyID(s) {
		return fmt.Errorf("%+q is not the name of a key", s)
	}
	return nil
}

func checkRepoID(s string) error {
	if !handoff.IsRepoID(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%+q is not a repo id: git+https://host/path, git+file:///path or local: and 32 hex digits", s)
	}
	return nil
}

// IsPrincipal reports whether s is a principal, as "user:alice@example.com". It excludes characters with a meaning in a line of allowed_signers, as the trust
// list does.
func IsPrincipal(s string) bool {
	rest, ok := strings.CutPrefix(s, "user:")
	return ok && rest != "" && len(rest) < 250 &&
		!strings.ContainsFunc(rest, func(r rune) bool { return r < '$' || r > '~' || strings.ContainsRune("*,?", r) })
}

func checkScope(s string) error {
	_, err := ParseScope(s)
	return err
}

// malformed refuses one claim. A cause is kept behind %w.
func malformed(claim, format string, args ...any) error {
	return fault.New(fault.Invalid, fault.Malformed, "token: %s: %w", claim, fmt.Errorf(format, args...))
}

// deny refuses a well-formed token.
func deny(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Denied, reason, "token: "+format, args...)
}

// sortedSet returns a list as tokens have it: sorted, and without duplicates.
func sortedSet(list []string) []string {
	s := slices.Clone(list)
	slices.Sort(s)
	return slices.Compact(s)
}
