package crossrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"githandoff/internal/gittest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A ref is deleted between a hub's list of refs and the request for its object, and the hub refuses the fetch.
// The next list is right.
func TestObjectThatWentMeanwhile(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")

	once := filepath.Join(t.TempDir(), "once")
	require.NoError(t, os.WriteFile(once, nil, 0o600))
	refusal := "ERR upload-pack: not our ref " + strings.Repeat("a", gittest.Objects().Digits())
	fixer.git.Git(t, "config", "remote.origin.uploadpack",
		uploadPack(t, "if test -e '%[1]s'; then rm '%[1]s'; printf '%%s' '%04[2]x%[3]s'; exit 1; fi", once, len(refusal)+4, refusal))

	assert.NotEmpty(t, fixer.look(t, p).Tip)
	assert.NoFileExists(t, once, "the hub refused a fetch")
}
