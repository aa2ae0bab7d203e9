package fault_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
)

func TestHint(t *testing.T) {
	err := fault.New(fault.NotFound, "nothing_pending", "nothing waits").
		WithHints(fault.Run("githandoff", "sync"), fault.Run("git", "log", "a b").Because("shows %d commits", 3), fault.Fact("ask the sender"))
	var lines []string
	for _, h := range err.Hints {
		lines = append(lines, h.String())
	}
	assert.Equal(t, []string{"githandoff sync", "git log 'a b'  # shows 3 commits", "# ask the sender"}, lines)
	assert.Equal(t, "nothing waits", err.Error(), "a hint is no part of the message")
}

func TestSee(t *testing.T) {
	assert.Equal(t, "githandoff trust add --help  # names the agent", fault.See("trust add").Because("names the agent").String())
}

func TestInstead(t *testing.T) {
	argv := []string{"githandoff", "emit", "--reasn=x", "--to", "fixer@orign", "--once=ture", "showw"}
	for given, want := range map[string]string{
		"showw":   "githandoff emit --reasn=x --to fixer@orign --once=ture MEANT  # did you mean MEANT?",
		"--reasn": "githandoff emit MEANT=x --to fixer@orign --once=ture showw  # did you mean MEANT?",
		"orign":   "githandoff emit --reasn=x --to fixer@MEANT --once=ture showw  # did you mean MEANT?",
		"ture":    "githandoff emit --reasn=x --to fixer@orign --once=MEANT showw  # did you mean MEANT?",
		"absent":  "# did you mean MEANT?",
	} {
		assert.Equal(t, want, fault.Instead(given, "MEANT").In(argv).String())
	}
	assert.Equal(t, "githandoff hold --lease 1h ID -- make -j", fault.With("ID").In([]string{"githandoff", "hold", "--lease", "1h", "--", "make", "-j"}).String())
	assert.Equal(t, "githandoff sync", fault.Run("githandoff", "sync").In(argv).String())
}
