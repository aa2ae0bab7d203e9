package cli

import (
	"strings"

	"githandoff/internal/handoff"
)

// What others wrote stands inside of a fence, or as a value of JSON. Outside stand
// only names and keys in their checked alphabets, of 64 bytes at most: whatever
// prints such a thing asks one of these.
const maxOutside = 64

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

	noName = "(no name)" // in place of what is none
)

// outside reports whether s is one short word of these characters.
func outside(s, characters string) bool {
	return s != "" && len(s) <= maxOutside && strings.Trim(s, characters) == ""
}

// taskKey reports whether a task is a key, such as LIN-423, org/repo#7 or v1.2+rc.
func taskKey(s string) bool { return outside(s, letters+"._-/#+") }

// taskOf is a task as it stands outside: itself, or that there is one.
func taskOf(s string) string {
	switch {
	case s == "" || taskKey(s):
		return s
	}
	return "(a text)"
}

// nameOf is the name of an agent or a person, or that it is none.
func nameOf(s string) string {
	if handoff.CheckAgent(s) == nil || isMail(s) || s == "_" {
		return s
	}
	return noName
}

func isMail(s string) bool {
	user, host, ok := strings.Cut(s, "@")
	return ok && len(s) <= maxOutside && outside(user, letters+"._%+-") && outside(host, letters+".-") && strings.ContainsAny(host[:1], letters)
}

// principalOf is "user:MAIL", with what vouches for it behind it if that was there:
// "" where the mail has not the form of one. Nobody checked a declared one.
func principalOf(s string) string {
	who, mark, marked := strings.Cut(s, " ")
	mail, ok := strings.CutPrefix(who, "user:")
	if !ok || !isMail(mail) || marked && mark != "(declared)" && mark != "(token)" {
		return ""
	}
	return s
}
