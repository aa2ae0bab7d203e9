// Package fault is the vocabulary of refusals: an error that knows the exit
// code it ends the process with, the one-word reason that programs branch on,
// and the hints that mend it.
//
// Every layer may return one; only internal/cli prints them. An error without
// a fault in its chain ends the process with [Other].
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Code is a process exit code. The table is part of the contract and is
// printed by "githandoff help exit-codes".
type Code int

// The exit codes.
const (
	Other       Code = 1   // any failure without a code of its own
	Usage       Code = 2   // the command line is wrong
	NotFound    Code = 3   // not found, or nothing pending
	Denied      Code = 4   // signature, trust or token refused
	Conflict    Code = 5   // held by another, not the holder, lost the race
	Invalid     Code = 6   // malformed, non-canonical, wrong version, over a limit
	Policy      Code = 7   // scope, secret, transcript, capability, skill
	Unavailable Code = 8   // git or a remote unavailable or refusing
	Bug         Code = 70  // a bug in githandoff
	Interrupted Code = 130 // SIGINT
)

// Reason is a stable snake_case word that programs branch on: one of reason.go.
type Reason string

// Error is a refusal. Message is one line, lower case, and must not repeat
// secrets. Hints are commands that mend it, the best one first; at most
// [MaxHints] are shown.
type Error struct {
	Code    Code
	Reason  Reason
	Message string
	Hints   []Hint
	Err     error // cause, may be nil; not printed to people
}

// New makes a refusal with a formatted message. A %w verb keeps its operand as
// the cause.
func New(code Code, reason Reason, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Reason: reason, Message: wrapped.Error(), Err: errors.Unwrap(wrapped)}
}

// WithHints returns e with commands that mend it, the best one first.
func (e *Error) WithHints(hints ...Hint) *Error {
	e.Hints = hints
	return e
}

// Advice is the text of the hints, a line each.
func (e *Error) Advice() string {
	var lines []string
	for _, h := range e.Hints {
		lines = append(lines, h.String())
	}
	return strings.Join(lines, "\n")
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// As returns the first refusal in err's chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// About says what an error is about, and keeps its code and reason.
func About(what string, err error) error {
	f := As(err)
	if f == nil {
		f = &Error{Code: CodeOf(err), Reason: Failed, Message: err.Error()}
	}
	told := *f
	told.Message, told.Err = what+": "+f.Message, err
	return &told
}

// CodeOf returns the exit code that err ends the process with; 0 for nil.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	if e := As(err); e != nil {
		return e.Code
	}
	return Other
}

// Is reports whether err carries the given reason.
func Is(err error, reason Reason) bool {
	e := As(err)
	return e != nil && e.Reason == reason
}
