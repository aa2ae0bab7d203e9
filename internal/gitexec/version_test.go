package gitexec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/gitexec"
)

func TestOlderThan(t *testing.T) {
	for version, want := range map[string]bool{
		"2.31.0": false, "2.30.9": true, "2.39.5": false, "1.99": true, "3.0": false, "2.31.0.windows.1": false,
		"2.4.1 (Apple Git-12)": true, "built by hand": false, "": false,
	} {
		assert.Equal(t, want, gitexec.OlderThan(version, "2.31"), version)
	}
}
