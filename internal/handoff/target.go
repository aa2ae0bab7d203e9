package handoff

import (
	"fmt"
	"strings"

	"githandoff/internal/fault"
)

// CheckAlias says why s cannot be the short name of another repository; nil if
// it can. Whatever passes is also a name that git takes for a remote.
func CheckAlias(s string) error {
	switch {
	case !spelled(s, lower+upper+digits, lower+upper+digits+"._-", 63):
		return fmt.Errorf("alias %+q: want 1 to 63 of A-Z a-z 0-9 . _ - and a letter or digit first", clip(s))
	case strings.Contains(s, ".."), strings.HasSuffix(s, ".lock"), strings.HasSuffix(s, "."):
		return fmt.Errorf("alias %q: must not contain \"..\" or end in \".lock\" or \".\"", s)
	}
	return nil
}

// ParseTarget reads a target as people write it: "agent", "agent@alias", or
// "@alias", which is nobody yet (a nil agent) at that repository. A target that
// cannot be is refused with the code fault.Usage and the reason
// "invalid_target".
func ParseTarget(s string) (agent *string, alias string, err error) {
	name, alias, remote := strings.Cut(s, "@")
	if remote {
		err = CheckAlias(alias)
	}
	if name != "" || !remote {
		if bad := CheckAgent(name); bad != nil {
			err = bad
		}
		agent = &name
	}
	if err != nil {
		return nil, "", fault.New(fault.Usage, fault.InvalidTarget, "%w", err).
			WithHints(fault.Fact("a target looks like fixer, fixer@origin, or @origin where nobody is chosen yet"))
	}
	return agent, alias, nil
}
