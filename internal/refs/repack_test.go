package refs

import (
	"fmt"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Transactions that need the lock of packed-refs succeed while others pack refs without a pause.
func TestApplyBesidePacking(t *testing.T) {
	const packers = 4
	repo, r, oid := threeCommits(t)
	var ended atomic.Bool
	var packs atomic.Int32
	done := make(chan struct{}, packers)
	for range packers {
		go func() {
			defer func() { done <- struct{}{} }()
			for !ended.Load() {
				cmd := exec.Command("git", "pack-refs", "--all")
				cmd.Dir, cmd.Env = repo.Dir, repo.Env
				if cmd.Run() == nil {
					packs.Add(1)
				}
			}
		}()
	}
	// Each round uses another ref: git's own pruning deletes a loose ref that has the value again with which it
	// was packed.
	for i := range 20 {
		ref := fmt.Sprintf("refs/handoffs/log/%02d", i)
		assert.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{ref, "", oid[0]}}}))
		assert.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{ref, oid[0], oid[1]}}}))
		assert.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{ref, oid[1], ""}}}))
	}
	ended.Store(true)
	for range packers {
		<-done
	}
	require.NotZero(t, packs.Load())
}
