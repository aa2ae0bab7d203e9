package brief

import (
	"fmt"
	"strings"

	"githandoff/internal/handoff"
)

// Omitted counts what the short form leaves out. It stands outside the fence, so it
// holds no word of the sender.
func Omitted(env *handoff.Envelope) []string {
	var more []string
	count := func(n int, what string) {
		if n > 0 {
			more = append(more, fmt.Sprintf("%s (%d)", what, n))
		}
	}
	if env.Detail != "" {
		more = append(more, fmt.Sprintf("detail (%d bytes)", len(env.Detail)))
	}
	count(len(env.CompletedSteps), "completed steps")
	long := 0
	for _, v := range env.Data {
		if len(v) > shortValue {
			long++
		}
	}
	count(long, "data")
	count(len(env.FilesVerified), "files verified")
	if env.Skills != nil {
		count(len(env.Skills.Invoked)+len(env.Skills.LibraryRead), "skills")
	}
	count(len(env.Lineage), "lineage")
	if _, hidden := extraMembers(env); len(hidden) > 0 {
		count(len(hidden), "members of the "+foreignFormat(env)+"document")
	}
	return more
}

// Commands names the commands that show what the short form leaves out.
func Commands(env *handoff.Envelope, id string) string {
	var commands []string
	if env.Detail != "" {
		commands = append(commands, "githandoff show "+id+" --detail")
	}
	if _, hidden := extraMembers(env); len(hidden) > 0 && foreignFormat(env) != "" {
		commands = append(commands, "githandoff show "+id+" --format "+env.Origin.Format)
	}
	return strings.Join(append(commands, "githandoff show "+id+" --json"), ", ")
}
