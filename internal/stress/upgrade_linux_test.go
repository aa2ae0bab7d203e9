package stress

import (
	"slices"
	"strings"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A command converts a record of an earlier version, sends its step and records the end. It is killed before
// each system call that changes the record. The next command completes the step.
func TestKilledUpgrade(t *testing.T) {
	t.Parallel()
	all := scenes()
	s := all[slices.IndexFunc(all, func(s scene) bool { return s.name == "sync after an upgrade" })]
	w, boss, fixer := gittest.NewPair(t)
	p, args := s.set(t, boss, fixer)
	back := keep(t, w)
	killed := 0
	for {
		seen := 0
		first, _ := trapped(t, p.Command(t, args...), func(_ int, p point) verdict {
			if p.by == tool && (strings.Contains(p.path, "githandoff/journal") || strings.Contains(p.path, "githandoff/claims")) {
				if seen++; seen > killed {
					return verdict{dies: tool}
				}
			}
			return verdict{}
		})
		if seen <= killed {
			break
		}
		killed++
		require.Equal(t, -1, first.Code, "%s", first)
		removeDeadLocks(t, w, w.At("boss"), w.At("fixer"))
		s.repeat(t, w, first, p, args)
		if t.Failed() {
			t.Fatalf("at change %d of the record", killed)
		}
		back()
	}
	assert.Greater(t, killed, 5, "changes of the record")
	t.Logf("%d changes of the record", killed)
}
