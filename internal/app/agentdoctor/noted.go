package agentdoctor

import (
	"strings"
	"time"

	"githandoff/internal/fault"
)

// recent is for how long a failure of a hook is reported. No log says that its cause was mended.
const recent = 7 * 24 * time.Hour

// noted reports the failures recorded by agents' hooks. A hook itself is silent.
func (r *Request) noted() []Finding {
	count, last := 0, ""
	for line := range strings.Lines(string(read(r.Log))) {
		at, text, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if t, err := time.Parse(time.RFC3339, at); !ok || err != nil || r.Now.Sub(t) > recent {
			continue
		}
		count, last = count+1, at+" "+text
	}
	if count == 0 {
		return nil
	}
	return []Finding{{
		Text: fault.Count(count, "hook") + " of agents failed within a week, the last: " + last,
		Hint: fault.Run("rm", r.Log).Because("forgets them once the cause is mended"),
	}}
}
