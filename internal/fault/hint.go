package fault

import "fmt"

// Hint is a command that mends a refusal, and why one would run it. Run is an
// argument vector that works as it stands; it holds no placeholders. Why is one
// short sentence, or empty. A hint without Run only states a fact.
type Hint struct {
	Run []string `json:"run,omitempty"`
	Why string   `json:"why,omitempty"`
}

// Run is a hint to run a command.
func Run(argv ...string) Hint { return Hint{Run: argv} }

// Because returns h with its reason set.
func (h Hint) Because(format string, args ...any) Hint {
	h.Why = fmt.Sprintf(format, args...)
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
