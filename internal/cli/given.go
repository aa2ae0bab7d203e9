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

// targetVar declares a flag for the one receiver of a handoff. A second one is refused: it would get
// nothing, or the first one would.
func targetVar(flags *pflag.FlagSet, p *string, usage string) {
	flags.Func("to", usage, func(target string) error {
		if *p != "" && target != *p {
			return fmt.Errorf("a handoff has one target, and %s is named already", printable(*p))
		}
		*p = target
		return nil
	})
}
