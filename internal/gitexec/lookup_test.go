package gitexec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/gitexec"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	env := []string{"A=1", "AB=2", "C=", "A=3=4"}
	for name, want := range map[string]struct {
		value string
		set   bool
	}{"A": {"3=4", true}, "AB": {"2", true}, "C": {"", true}, "B": {"", false}} {
		value, set := gitexec.Lookup(env, name)
		assert.Equal(t, want.value, value, name)
		assert.Equal(t, want.set, set, name)
	}
}
