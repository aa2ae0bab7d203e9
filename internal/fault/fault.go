// Package fault is the vocabulary of refusals: an error with the exit code of the process, a
// one-word reason for programs to branch on, and hints to mend it.
//
// Every layer may return one; only internal/cli prints them. An error without
// a fault in its chain ends the process with [Other].
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
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

// Reason is a stable snake_case word for programs to branch on: one of reason.go.
type Reason string

// Error is a refusal. Message is one line, lower case, and must not repeat secrets. Hints are
// commands to mend it, the best one first; at most [MaxHints] are shown.
type Error struct {
	Code    Code
	Reason  Reason
	Message string
	Hints   []Hint
	Err     error // cause, may be nil; not printed to people
}

// Cause is the cause of refusals, with a hint for whoever meets one: see [New].
type Cause struct {
	Err  error
	Hint Hint
}

func (c *Cause) Error() string { return c.Err.Error() }

// New makes a refusal with a formatted message. A %w verb keeps its operand as
// the cause, and a [Cause] below it gives its hint. A malformed object is somebody
// else's, so that its message quotes plain words only, as after [WithoutTexts].
func New(code Code, reason Reason, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	message := wrapped.Error()
	if reason == MalformedObject {
		message = withoutTexts(message)
	}
	e := &Error{Code: code, Reason: reason, Message: message, Err: errors.Unwrap(wrapped)}
	if cause, ok := errors.AsType[*Cause](wrapped); ok {
		e.Hints = []Hint{cause.Hint}
	}
	return e
}

// WithHints returns a copy of e with commands to mend it, the best one first.
func (e *Error) WithHints(hints ...Hint) *Error {
	with := *e
	with.Hints = hints
	return &with
}

// Advice returns the text of the hints, a line each.
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
	e, _ := errors.AsType[*Error](err)
	return e
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

// CodeOf returns the exit code for err; 0 for nil.
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

// First keeps the first of some errors. Others are warnings, unless they repeat it.
type First struct {
	Err  error
	Warn func(error)
}

// Keep takes the next error; nil is none.
func (f *First) Keep(err error) {
	switch {
	case err == nil:
	case f.Err == nil:
		f.Err = err
	case err.Error() != f.Err.Error():
		f.Warn(err)
	}
}

// MaxHints is the number of hints shown for one error.
const MaxHints = 3

// Hint is a command to mend a refusal, and why one would run it. Run is an argument vector,
// complete and without placeholders. Why is one short sentence, or empty. A hint without Run
// only states a fact.
type Hint struct {
	Run []string `json:"run,omitempty"`
	Why string   `json:"why,omitempty"`

	given, meant string // see Instead
	added        string // see With
	whole        bool   // see Whole
}

// Run returns a hint to run a command.
func Run(argv ...string) Hint { return Hint{Run: argv} }

// Fact returns a hint without a command.
func Fact(format string, args ...any) Hint { return Hint{}.Because(format, args...) }

// See returns a hint to read the help of a command, for a value only the caller can know.
func See(command string) Hint {
	return Run(append(append([]string{"githandoff"}, strings.Fields(command)...), "--help")...)
}

// Instead returns a hint to run the same command again, with one word in the place of another. Only
// the command line knows the command: see In.
func Instead(given, meant string) Hint {
	return Hint{Why: fmt.Sprintf("did you mean %s?", meant), given: given, meant: meant}
}

// With returns a hint to run the same command again, with one more argument: see In.
func With(arg string) Hint { return Hint{added: arg} }

// Because returns h with its reason set.
func (h Hint) Because(format string, args ...any) Hint {
	h.Why = fmt.Sprintf(format, args...)
	return h
}

// In returns h for a typed command line: a hint of Instead or With gets its command from there. The
// word of Instead may stand alone, in a flag (--to=word, --word=…) or as the alias of a target
// (agent@word). The argument of With goes to the end, or before "--".
func (h Hint) In(argv []string) Hint {
	if h.added != "" {
		at := slices.Index(argv, "--")
		if at < 0 {
			at = len(argv)
		}
		h.Run, h.added = slices.Insert(slices.Clone(argv), at, h.added), ""
	}
	if h.given == "" {
		return h
	}
	for i, arg := range argv {
		flag, isFlag := strings.CutPrefix(arg, h.given+"=")
		target, isTarget := strings.CutSuffix(arg, "@"+h.given)
		value, isValue := strings.CutSuffix(arg, "="+h.given)
		switch {
		case arg == h.given:
			arg = h.meant
		case isFlag && strings.HasPrefix(arg, "-"):
			arg = h.meant + "=" + flag
		case isTarget:
			arg = target + "@" + h.meant
		case isValue:
			arg = value + "=" + h.meant
		default:
			continue
		}
		h.Run = slices.Clone(argv)
		h.Run[i] = arg
		break
	}
	h.given, h.meant = "", ""
	return h
}

// Whole returns h for a command whose ids are printed in full, because a shorter end
// of an id was ambiguous.
func (h Hint) Whole() Hint {
	h.whole = true
	return h
}

// Map returns h with each argument of its command replaced by f,
// unless the arguments are to stay whole.
func (h Hint) Map(f func(arg string) string) Hint {
	if h.whole || h.Run == nil {
		return h
	}
	h.Run = slices.Clone(h.Run)
	for i, arg := range h.Run {
		h.Run[i] = f(arg)
	}
	return h
}

// String returns the hint as one line to paste into a shell: the command, quoted where it must be,
// and its reason behind a "#".
func (h Hint) String() string {
	switch {
	case len(h.Run) == 0:
		return "# " + h.Why
	case h.Why == "":
		return shown(h.Run)
	}
	return shown(h.Run) + "  # " + h.Why
}

// SeeAll returns a hint to read the whole help of a command, for a flag missing from its short
// page.
func SeeAll(command string) Hint {
	return Run(append([]string{"githandoff", "help"}, strings.Fields(command)...)...)
}

// Arg spells arguments of a command line in a hint: each as it is where a POSIX
// shell takes it for one word, otherwise in single quotes.
func Arg(words ...string) string {
	var line []string
	for _, w := range words {
		if w == "" || strings.TrimFunc(w, plain) != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line = append(line, w)
	}
	return strings.Join(line, " ")
}

// plain: it means nothing to a shell.
func plain(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("%+,-./:=@_…", r)
}

// OneLine returns the text of an error, or of several joined ones, on one line.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// AddHints adds hints that are not there yet, up to the number that is shown.
func AddHints(have []Hint, more ...Hint) []Hint {
	for _, h := range more {
		if len(have) < MaxHints && !slices.ContainsFunc(have, func(old Hint) bool { return old.String() == h.String() }) {
			have = append(have, h)
		}
	}
	return have
}
