package output

import (
	"io"
	"strings"

	"githandoff/internal/untrusted"
)

// tame escapes what a terminal would obey in text of others: what a filter selects, or a patch.
// Only line breaks and tabs pass.
type tame struct{ w io.Writer }

func (t tame) Write(b []byte) (int, error) {
	var safe strings.Builder
	for line := range strings.Lines(string(b)) {
		text, ended := strings.CutSuffix(line, "\n")
		for i, cell := range strings.Split(text, "\t") {
			if i > 0 {
				safe.WriteByte('\t')
			}
			safe.WriteString(untrusted.Line(cell))
		}
		if ended {
			safe.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(t.w, safe.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}
