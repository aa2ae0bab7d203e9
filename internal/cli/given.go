package cli

import (
	"fmt"

	"github.com/spf13/pflag"
)

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
		return fmt.Errorf("a handoff has one target, but %s is already named", printable(string(*t)))
	}
	*t = targetFlag(target)
	return nil
}
