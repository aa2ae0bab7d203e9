package fault

import (
	"fmt"
	"slices"
	"strings"
)

// MaxHints is how many hints are shown of one error.
const MaxHints = 3

// Hint is a command that mends a refusal, and why one would run it. Run is an
// argument vector that works as it stands; it holds no placeholders. Why is one
// short sentence, or empty. A hint without Run only states a fact.
type Hint struct {
	Run []string `json:"run,omitempty"`
	Why string   `json:"why,omitempty"`

	given, meant string // see Instead
	whole        bool   // see Whole
}

// Run is a hint to run a command.
func Run(argv ...string) Hint { return Hint{Run: argv} }

// Fact is a hint without a command.
func Fact(format string, args ...any) Hint { return Hint{}.Because(format, args...) }

// See is a hint to read the help of a command, for a value that only the caller
// can know.
func See(command string) Hint {
	return Run(append(append([]string{"githandoff"}, strings.Fields(command)...), "--help")...)
}

// Instead is a hint to run the same command again, with one word in the place of
// another. Only the command line knows that command: see In.
func Instead(given, meant string) Hint {
	return Hint{Why: fmt.Sprintf("did you mean %s?", meant), given: given, meant: meant}
}

// Because returns h with its reason set.
func (h Hint) Because(format string, args ...any) Hint {
	h.Why = fmt.Sprintf(format, args...)
	return h
}

// In returns h for a command line that was typed: what Instead made gets its
// command from there. The word may stand alone, in a flag (--to=word, --word=…) or
// as the alias of a target (agent@word).
func (h Hint) In(argv []string) Hint {
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

// String is the hint as one line that can be pasted into a shell: the command,
// quoted where it must be, and its reason behind a "#".
func (h Hint) String() string {
	switch {
	case len(h.Run) == 0:
		return "# " + h.Why
	case h.Why == "":
		return Arg(h.Run...)
	}
	return Arg(h.Run...) + "  # " + h.Why
}

// SeeAll is a hint to read the whole help of a command, for a flag that is not on its
// short page.
func SeeAll(command string) Hint {
	return Run(append([]string{"githandoff", "help"}, strings.Fields(command)...)...)
}
