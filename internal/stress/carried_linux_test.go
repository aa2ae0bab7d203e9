package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// carriedFile is the untracked file by whose content the model tells snapshots apart.
const carriedFile = "carried.txt"

// carry gives a handoff that is emitted at its origin a snapshot of unique content.
func (m *machine) carry(j *job) string {
	m.snapshots++
	j.carries = fmt.Sprintf("snapshot %d", m.snapshots)
	m.script.add(fmt.Sprintf("exec sh -c 'echo %s >%s/%s'", j.carries, j.origin, carriedFile))
	require.NoError(m.t, os.WriteFile(filepath.Join(m.places[j.origin].Dir, carriedFile), []byte(j.carries+"\n"), 0o644))
	return "--snapshot"
}

// TakeAway takes a handoff in a worktree of its own, checks that the sender's files are there, and acknowledges
// the handoff there.
func (m *machine) TakeAway(h *hand) {
	j := m.job(h)
	at, me := m.place(h)
	if me != j.to && h.n("who", 2) == 0 {
		at, me = j.to, j.to
	}
	if _, waits := m.kept[at][j]; waits || j.carries == "" || m.hidden(j) {
		return
	}
	m.snapshots++
	dir := fmt.Sprintf("copy%d", m.snapshots)
	copied := filepath.Join(m.Dir, dir)
	r := m.run(at, "resume", j.id, "--worktree=../"+dir)
	if !j.mayClaim(at, me, m.clock, true, false) {
		m.exits(r, 3, 4, 5, 8)
		require.NoDirExists(m.t, copied)
		return
	}
	m.exits(r, 0)
	b, err := os.ReadFile(filepath.Join(copied, carriedFile))
	require.NoError(m.t, err)
	require.Equal(m.t, j.carries+"\n", string(b), "%s in %s", j.id, dir)
	require.Equal(m.t, "?? "+carriedFile, (&gittest.Repo{Dir: copied, Env: m.places[at].Env}).Git(m.t, "status", "--porcelain"))

	m.places[dir] = &gittest.Repo{Dir: copied, Env: m.places[at].Env}
	r = m.run(dir, "ack")
	delete(m.places, dir)
	m.exits(r, 0)
	m.places[at].Git(m.t, "worktree", "remove", "--force", copied)
	m.script.add("exec git -C " + at + " worktree remove --force ../" + dir)
	j.claimed(at, m.clock, 0)
	j.ended("acknowledged", "")
}

// Look shows the snapshot of a handoff. This changes nothing.
func (m *machine) Look(h *hand) {
	j := m.job(h)
	at, _ := m.place(h)
	if j.carries == "" || !j.open() || !j.reaches(at) || m.hidden(j) {
		return
	}
	r := m.run(at, "work", "show", j.id)
	if m.agents[at] != j.to && j.origin != at && j.home != at {
		m.exits(r, 0, 3) // nothing tells this place where the handoff is
		return
	}
	m.exits(r, 0)
	require.Contains(m.t, r.Stdout, carriedFile, "%s", j.id)
}

// snapshotsAreThere requires the snapshot of each open handoff at its home, the snapshot of
// each sent or waiting handoff at its origin, and no snapshot of an ended one.
func (m *machine) snapshotsAreThere(repos []*gittest.Repo) {
	at := map[string]string{} // "repo id": commit
	for _, repo := range repos {
		out := repo.Git(m.t, "for-each-ref", "--format=%(refname) %(objectname)", workRefs)
		for line := range strings.Lines(out) {
			ref, oid, _ := strings.Cut(strings.TrimSpace(line), " ")
			key := filepath.Base(repo.Dir) + " " + ref[strings.LastIndex(ref, "/")+1:]
			require.Empty(m.t, at[key], "two snapshots of one handoff: %s", ref)
			at[key] = oid
		}
	}
	for _, j := range m.jobs {
		key := j.home + " " + j.id
		if !j.open() || j.carries == "" {
			continue // no snapshot is expected; the check below finds strays
		}
		require.NotEmpty(m.t, at[key], "the snapshot of %s is not at %s", j.id, j.home)
		content := m.At(j.home).Git(m.t, "cat-file", "blob", at[key]+"^3:"+carriedFile)
		require.Equal(m.t, j.carries, strings.TrimSpace(content), "of %s at %s", j.id, j.home)
		delete(at, key)
	}
	require.Empty(m.t, at, "snapshots of handoffs that are over, or carry none")
	for _, j := range m.jobs {
		if j.phase() == "queued" && j.carries != "" {
			require.NotEmpty(m.t, m.At(j.origin).Git(m.t, "for-each-ref", workOut+"/"+j.id), "%s waits without its snapshot", j.id)
		}
	}
}
