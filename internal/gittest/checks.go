package gittest

import (
	"flag"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Checks sets the number of random checks of a test that is slow, for rapid. The flag -rapid.checks counts instead if
// it is given: with 1000, the test runs longer. Tests that run in parallel must not use it.
func Checks(t testing.TB, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() == checks.DefValue {
		require.NoError(t, checks.Value.Set(strconv.Itoa(n)))
		t.Cleanup(func() { assert.NoError(t, checks.Value.Set(checks.DefValue)) })
	}
}
