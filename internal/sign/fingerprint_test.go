package sign

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFingerprint(t *testing.T) {
	assert.Equal(t, "0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567",
		Fingerprint("openpgp:0123456789abcdef0123456789abcdef01234567"))
	assert.Equal(t, "SHA256:wpth25gOeElzGM/C6V7PH3J1XE8sLHX4n/go1YXxR+A",
		Fingerprint("ssh:SHA256:wpth25gOeElzGM/C6V7PH3J1XE8sLHX4n/go1YXxR+A"))
}
