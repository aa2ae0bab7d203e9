package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOlderThan(t *testing.T) {
	for version, want := range map[string]bool{
		"2.31.0": false, "2.30.9": true, "2.39.5": false, "1.99": true, "3.0": false, "2.31.0.windows.1": false,
		"2.4.1 (Apple Git-12)": true, "built by hand": false, "": false,
	} {
		assert.Equal(t, want, olderThan(version, "2.31"), version)
	}
}

func TestFingerprint(t *testing.T) {
	assert.Equal(t, "0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567",
		fingerprint("openpgp:0123456789abcdef0123456789abcdef01234567"))
	assert.Equal(t, "SHA256:wpth25gOeElzGM/C6V7PH3J1XE8sLHX4n/go1YXxR+A",
		fingerprint("ssh:SHA256:wpth25gOeElzGM/C6V7PH3J1XE8sLHX4n/go1YXxR+A"))
}
