package gitexec

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Installed asks git for its version.
func Installed(ctx context.Context, vars []string) (string, error) {
	run := &Runner{Env: Environ(vars)}
	out, err := run.Run(ctx, Cmd{Args: []string{"version"}})
	return Version(out), err
}

// Version takes the number out of the output of "git version".
func Version(out []byte) string {
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
}

// OlderThan compares the first two numbers of a version, as in "2.39.5". A git
// that was built from source may say anything, and is not too old.
func OlderThan(version, oldest string) bool {
	var have, want [2]int
	_, _ = fmt.Sscanf(oldest, "%d.%d", &want[0], &want[1])
	if n, _ := fmt.Sscanf(version, "%d.%d", &have[0], &have[1]); n < 2 {
		return false
	}
	return slices.Compare(have[:], want[:]) < 0
}
