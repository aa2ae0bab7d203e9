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
	Preset(t, "rapid.checks", strconv.Itoa(n))
}

// Preset changes the default of a flag for one test. It changes nothing and reports false if the command line has
// the flag, even with the value that is the default otherwise.
func Preset(t testing.TB, name, value string) bool {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return false
	}
	f := flag.Lookup(name)
	require.NoError(t, f.Value.Set(value))
	t.Cleanup(func() { assert.NoError(t, f.Value.Set(f.DefValue)) })
	return true
}
