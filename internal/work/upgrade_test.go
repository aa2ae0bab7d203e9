package work

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/record"
)

// The files are those of an earlier version: a claim and its step in two files, a rejection, and a step whose
// claim has ended.
func TestUpgrade(t *testing.T) {
	const thirdID = "ho_01kahcp3g0000000000000020r"
	c := claimsIn(t.TempDir())
	dir := filepath.Join(c.GitDir, "githandoff")
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

	// The process was killed before it removed the old file.
	step(someID, "acknowledged", "n", "")
	require.NoError(t, c.Upgrade(t.Context()))
	check()
}

// A file that cannot be read stays in its place, and the others are moved.
func TestUpgradeOfADamagedFile(t *testing.T) {
	c := claimsIn(t.TempDir())
	dir := filepath.Join(c.GitDir, "githandoff")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "journal"), 0o700))
	damaged := filepath.Join(dir, "journal", someID+".json")
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal", otherID+".json"), []byte(`{"event":"failed","nonce":""}`), 0o600))
	assert.ErrorContains(t, c.Upgrade(t.Context()), damaged)
	waiting, err := c.Waiting()
	require.NoError(t, err)
	assert.Len(t, waiting, 1)
	assert.FileExists(t, damaged)
}

// An earlier version that runs beside this one keeps a step of its own, and does not know of the
// one in the record.
func TestUpgradeBesideAKeptStep(t *testing.T) {
	progress := Step{Event: record.Progressed, Nonce: "n", Entry: "e", Data: `{"progress":"half"}`, At: at()}
	for name, tc := range map[string]struct {
		kept    Step
		file    string
		want    Step
		dropped string
	}{
		"an end after a progress": {
			progress, `{"event":"acknowledged","nonce":"n","data":"{}","at":"2026-11-20T22:01:00Z"}`,
			Step{Event: record.Acknowledged, Nonce: "n", Data: "{}", At: at().Add(time.Minute)},
			`{"progress":"half"}`,
		},
		"a renewal after a progress": {
			progress, `{"event":"progressed","nonce":"n","at":"2026-11-20T22:01:00Z"}`,
			Step{Event: record.Progressed, Nonce: "n", Data: `{"progress":"half"}`, Entry: "147db86c170a75ac2d7ce12183b1691d", Said: []string{"e"}, At: at().Add(time.Minute)},
			"",
		},
		"a progress after an end": {
			Step{Event: record.Failed, Nonce: "n", At: at()},
			`{"event":"progressed","nonce":"n","at":"2026-11-20T22:01:00Z"}`,
			Step{Event: record.Failed, Nonce: "n", At: at()},
			`"progressed" of handoff ` + someID + `: another one ends`,
		},
		"an end after another end": {
			Step{Event: record.Failed, Nonce: "n", At: at()},
			`{"event":"acknowledged","nonce":"n","at":"2026-11-20T22:01:00Z"}`,
			Step{Event: record.Failed, Nonce: "n", At: at()},
			`"acknowledged" of handoff ` + someID + `: another one ends`,
		},
		"an end of a claim that was lost": {
			progress, `{"event":"acknowledged","nonce":"gone","at":"2026-11-20T22:01:00Z"}`,
			progress, `"acknowledged" of handoff ` + someID + `: its claim`,
		},
		"an end beside one of a claim that was lost": {
			Step{Event: record.Released, Nonce: "gone", At: at()},
			`{"event":"acknowledged","nonce":"n","at":"2026-11-20T22:01:00Z"}`,
			Step{Event: record.Acknowledged, Nonce: "n", At: at().Add(time.Minute)},
			`"released" of handoff ` + someID + `: its claim`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := claimsIn(t.TempDir())
			dir := filepath.Join(c.GitDir, "githandoff")
			store(t, c, &Claim{ID: someID, Agent: "fixer", Actor: "fixer", Nonce: "n", Pending: &tc.kept})
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "journal"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "journal", someID+".json"), []byte(tc.file), 0o600))
			err := c.Upgrade(t.Context())
			if tc.dropped == "" {
				require.NoError(t, err)
			} else {
				assert.True(t, fault.Is(err, fault.NotHolder), err)
				assert.ErrorContains(t, err, tc.dropped)
			}
			kept, err := c.Pending(someID)
			require.NoError(t, err)
			assert.Equal(t, &tc.want, kept)
			assert.NoDirExists(t, filepath.Join(dir, "journal"))
		})
	}
}
