package work

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/record"
)

// Files of an earlier version: a claim and the step on it in two files, a rejection, and a step
// whose claim has ended.
func TestUpgrade(t *testing.T) {
	const thirdID = "ho_01kahcp3g0000000000000020r"
	dir := t.TempDir()
	c := claimsIn(dir)
	old := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	step := func(id, event, nonce, more string) {
		t.Helper()
		old("journal/"+id+".json", fmt.Sprintf(`{"id":%q,"event":%q,"nonce":%q%s,"at":"2026-11-20T22:00:00Z"}`, id, event, nonce, more))
	}
	old("claims/"+someID+".json", `{"id":"`+someID+`","agent":"fixer","actor":"fixer","home":"local:1","nonce":"n","key":"k","at":"2026-11-20T22:00:00Z","lease":"2026-11-20T23:00:00Z","printed":true}`)
	step(someID, "acknowledged", "n", `,"data":"{}","commit":"c"`)
	step(otherID, "failed", "", `,"agent":"fixer","actor":"qa","home":"local:2"`)
	step(thirdID, "acknowledged", "gone", "")

	err := c.Upgrade(t.Context())
	assert.True(t, fault.Is(err, fault.NotHolder), err)
	assert.ErrorContains(t, err, thirdID)
	check := func() {
		t.Helper()
		waiting, err := c.Waiting()
		require.NoError(t, err)
		require.Len(t, waiting, 2)
		assert.True(t, waiting[0].Finished())
		assert.Equal(t, "c", waiting[0].Pending.Commit)
		assert.Equal(t, &Claim{
			ID: otherID, Agent: "fixer", Actor: "qa", Home: "local:2", Pending: &Step{Event: record.Failed, At: at()},
		}, waiting[1])
		assert.NoDirExists(t, filepath.Join(dir, "journal"))
	}
	check()
	require.NoError(t, c.Upgrade(t.Context()))

	// Killed before the old file went.
	step(someID, "acknowledged", "n", "")
	require.NoError(t, c.Upgrade(t.Context()))
	check()
}

// A file that cannot be read stays where it is; the others are moved.
func TestUpgradeOfADamagedFile(t *testing.T) {
	dir := t.TempDir()
	c := claimsIn(dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "journal"), 0o700))
	damaged := filepath.Join(dir, "journal", someID+".json")
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal", otherID+".json"), []byte(`{"event":"failed","nonce":""}`), 0o600))
	assert.ErrorContains(t, c.Upgrade(t.Context()), damaged)
	waiting, err := c.Waiting()
	require.NoError(t, err)
	assert.Len(t, waiting, 1)
	assert.FileExists(t, damaged)
}
