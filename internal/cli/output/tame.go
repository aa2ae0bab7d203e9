package output

import (
	"io"
	"strings"

	"githandoff/internal/untrusted"
)

// tame escapes control characters in text of others: the output of a filter, or a patch.
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
