package annotate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzReadRewrites(f *testing.F) {
	f.Add("a b\nc b\nd e more\n")
	f.Add("alone\n\n")
	f.Fuzz(func(t *testing.T, lines string) {
		rewritten, err := ReadRewrites(strings.NewReader(lines))
		if err != nil {
			return
		}
		for _, rw := range rewritten {
			require.Contains(t, lines, rw.Old)
			require.Contains(t, lines, rw.New)
			require.Len(t, strings.Fields(rw.Old+" "+rw.New), 2)
		}
	})
}
