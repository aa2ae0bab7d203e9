package githook

import (
	"bufio"
	"io"
	"strings"
)

// ReadRewritten reads the input of a post-rewrite hook, a line for each commit: "<old> SP
// <new> [SP <more>] LF". It returns the old commits by the new one, which a squash has
// several of.
func ReadRewritten(r io.Reader) (map[string][]string, error) {
	rewritten := map[string][]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 {
			rewritten[f[1]] = append(rewritten[f[1]], f[0])
		}
	}
	return rewritten, lines.Err()
}
