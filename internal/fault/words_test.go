package fault_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
)

func TestCount(t *testing.T) {
	assert.Equal(t, "0 keys", fault.Count(0, "key"))
	assert.Equal(t, "1 entry", fault.Count(1, "entry"))
	assert.Equal(t, "2 entries", fault.Count(2, "entry"))
	assert.Equal(t, "1 time", fault.Count(1, "time"))
	assert.Equal(t, "3 times", fault.Count(3, "time"))
}

func TestNearest(t *testing.T) {
	known := []string{"fixer", "investigator", "qa", "as", "a"}
	for word, want := range map[string]string{
		"fixr": "fixer", "fxier": "fixer", "investigatr": "investigator", "qs": "qa",
		"fixer": "", "reviewer": "", "zz": "", "": "", "b": "", "yqa": "qa", "yes": "", "aq": "qa", "fxir": "", "ifxre": "fixer",
	} {
		assert.Equal(t, want, fault.Nearest(word, known), word)
	}
}
