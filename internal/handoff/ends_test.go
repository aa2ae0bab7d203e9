package handoff

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// The shortened id that people see is unique among the handoffs, is accepted by commands, and is no longer than
// necessary.
func TestEndsAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// There are few different characters, so that some ids have the same end.
		ids := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) ID {
			return ID("ho_0123456789012345" + rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 10, 10, -1).Draw(t, "end"))
		}), func(id ID) ID { return id }).Draw(t, "ids")
		ends := EndsOf(ids)
		for _, id := range ids {
			short := ends.Of(id)
			assert.NoError(t, CheckSuffix(short))
			means := func(arg string) (n int) {
				for _, other := range ids {
					if other.Matches(arg) {
						n++
					}
				}
				return n
			}
			assert.Equal(t, 1, means(short), "%s of %v", short, ids)
			if tail := []rune(short)[1:]; len(tail) > shortEnd {
				assert.Greater(t, means(string(tail[1:])), 1, "%s is longer than it must be", short)
			}
		}
	})
}

func TestEndOfAnUnknownID(t *testing.T) {
	const id = ID("ho_01m7y8brfre88y9k08rhmg4vtr")
	assert.Equal(t, "…rhmg4vtr", EndsOf(nil).Of(id))
	assert.Equal(t, "…rhmg4vtr", EndsOf([]ID{id, id}).Of(id), "an id that is given twice is one")
	other := "ho_7" + id[4:]
	assert.Equal(t, string(id), EndsOf([]ID{id, other}).Of(id), "only the whole of it differs")
}
