package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The log that git prints is parsed right, whatever the paths are.
func TestReadLog(t *testing.T) {
	oid := rapid.StringMatching(`[0-9a-f]{40}`)
	path := rapid.OneOf(rapid.StringMatching(`\n?[a-z /\n]{1,8}`), rapid.StringMatching(`[0-9a-f]{40}( [0-9a-f]{40}){1,3}`))
	rapid.Check(t, func(t *rapid.T) {
		var out strings.Builder
		var paths, merges, octopuses []string
		for range rapid.IntRange(0, 5).Draw(t, "commits") {
			commit, parents := oid.Draw(t, "commit"), rapid.SliceOfN(oid, 0, 4).Draw(t, "parents")
			fmt.Fprintf(&out, "\x00%s %s\x00", commit, strings.Join(parents, " "))
			switch n := len(parents); {
			case n > 2:
				octopuses = append(octopuses, commit)
			case n == 2:
				merges = append(merges, commit)
			default:
				changed := rapid.SliceOfN(path, 0, 4).Draw(t, "paths")
				for i, p := range changed {
					out.WriteString(map[bool]string{true: "\n"}[i == 0] + p + "\x00")
				}
				paths = append(paths, changed...)
			}
		}
		gotPaths, gotMerges, gotOctopuses := readLog(out.String())
		assert.Equal(t, paths, gotPaths)
		assert.Equal(t, merges, gotMerges)
		assert.Equal(t, octopuses, gotOctopuses)
	})
}

func FuzzReadLog(f *testing.F) {
	f.Add("\x00a b c\x00\x00b \x00\nx\x00y\x00")
	f.Fuzz(func(t *testing.T, out string) {
		paths, _, _ := readLog(out)
		assert.NotContains(t, paths, "")
		for _, p := range paths {
			assert.NotContains(t, p, "\x00")
		}
	})
}
