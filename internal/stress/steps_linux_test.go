package stress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (m *machine) place(t *rapid.T) (at, agent string) {
	at = rapid.SampledFrom(m.names).Draw(t, "place")
	return at, m.agents[at]
}

func (m *machine) job(t *rapid.T) *job {
	if len(m.jobs) == 0 {
		t.Skip("nothing was offered yet")
	}
	return rapid.SampledFrom(m.jobs).Draw(t, "handoff")
}

// hidden says whether the home of a handoff cannot be reached now.
func (m *machine) hidden(j *job) bool { return m.down != nil && j.home == hubName }

// address draws where something goes from a place: to the hub, or to oneself.
func (m *machine) address(t *rapid.T, at string) (agent, home, arg string) {
	if rapid.IntRange(0, 3).Draw(t, "here") == 0 {
		return m.agents[at], at, m.agents[at]
	}
	agent = rapid.SampledFrom([]string{"boss", "fixer"}).Draw(t, "to")
	return agent, hubName, agent + "@origin"
}

func (m *machine) Emit(t *rapid.T) {
	at, me := m.place(t)
	to, home, target := m.address(t, at)
	j := &job{from: me, to: to, origin: at, dest: home}
	ttl := rapid.SampledFrom([]time.Duration{2 * time.Hour, 7 * 24 * time.Hour}).Draw(t, "ttl")
	j.expires = m.clock.Add(ttl)
	m.serial++
	args := []string{"emit", "--once", "--task", fmt.Sprint("T-", m.serial), "--to", target, "--goal", "g", "--ttl", ttl.String()}
	if rapid.Bool().Draw(t, "back") {
		j.back = me
		args = append(args, "--on-failure", me)
	}
	queue := home == hubName && rapid.IntRange(0, 3).Draw(t, "queue") == 0
	if queue {
		args = append(args, "--queue")
	}
	m.jobs = append(m.jobs, j)
	if m.down != nil && home == hubName && !queue {
		r := m.run(at, args...)
		t.Logf("%s: %v: %s", at, args, r)
		require.Equal(t, 8, r.code, "%s", r)
		j.id = strings.TrimSpace(r.out)
		return
	}
	if !queue {
		j.offered()
	}
	_, said := m.do(t, at, true, args...)
	j.id = handoffID.FindString(said)
}

func (m *machine) Resume(t *rapid.T) {
	at, me := m.place(t)
	j := m.job(t)
	late := rapid.Bool().Draw(t, "allow expired")
	lease := rapid.SampledFrom([]time.Duration{time.Minute, time.Hour}).Draw(t, "lease")
	args := []string{"resume", j.id, "--lease", lease.String()}
	if late {
		args = append(args, "--allow-expired")
	}
	may := !m.hidden(j) && j.mayClaim(at, me, m.clock, true, late)
	if done, _ := m.do(t, at, may, args...); done {
		j.claimed(at, m.clock, lease)
	}
}

// ResumeAny takes one of those that wait, and none only where none waits.
func (m *machine) ResumeAny(t *rapid.T) {
	at, me := m.place(t)
	var waits, shown []*job // shown: may be, for it is held here and overdue
	for _, j := range m.jobs {
		switch {
		case m.hidden(j) || !j.open():
		case j.holder == at && j.free(m.clock, false):
			shown = append(shown, j)
		case j.holder != at && j.mayClaim(at, me, m.clock, false, false):
			waits = append(waits, j)
		}
	}
	r := m.run(at, "resume", "--json")
	t.Logf("%s: resume: %s", at, r)
	if r.code != 0 {
		require.Contains(t, []int{3, 4, 8}, r.code, "%s", r)
		require.True(t, len(waits) == 0 || r.code == 8 && m.down != nil, "%s waits: %s", waits, r)
		return
	}
	id := handoffID.FindString(r.out)
	i := slices.IndexFunc(m.jobs, func(j *job) bool { return j.id == id })
	require.GreaterOrEqual(t, i, 0, "%s", r)
	require.Contains(t, slices.Concat(waits, shown), m.jobs[i], "%s was handed out", id)
	m.jobs[i].claimed(at, m.clock, time.Hour)
}

// step is a step of a holder. It returns whether it was taken.
func (m *machine) step(t *rapid.T, at string, j *job, event string, args ...string) bool {
	holds := j.phase() == "held" && j.holder == at
	if !m.hidden(j) {
		// Repeated, to end it is a success.
		again := j.receipt == event && j.by == at && (event == "acknowledged" || event == "failed")
		done, _ := m.do(t, at, holds || again, args...)
		if holds {
			delete(m.kept[at], j)
		}
		return done && holds
	}
	r := m.run(at, args...)
	t.Logf("%s: %v, without the hub: %s", at, args, r)
	switch {
	case holds:
		require.Equal(t, 8, r.code, "%s", r)
		if old, ok := m.kept[at][j]; !ok || event != "progressed" || old.event == "progressed" {
			m.kept[at][j] = kept{event: event, claim: j.claim}
		}
	case r.code == 8 && event == "failed" && j.to == m.agents[at] && strings.Contains(r.diag, "is kept"):
		m.kept[at][j] = kept{event: event, rejects: true}
	case r.code == 8:
		m.lost[at] = true
	case j.receipt != event || j.by != at:
		require.Contains(t, []int{3, 4, 5}, r.code, "%s", r) // 4: never its to end
	}
	return false
}

func (m *machine) Progress(t *rapid.T) {
	at, _ := m.place(t)
	j := m.job(t)
	if m.step(t, at, j, "progressed", "progress", j.id) {
		j.renew(m.clock, j.term)
	}
}

func (m *machine) Release(t *rapid.T) {
	at, _ := m.place(t)
	j := m.job(t)
	if m.step(t, at, j, "released", "release", j.id) {
		j.released()
	}
}

func (m *machine) Ack(t *rapid.T) {
	at, _ := m.place(t)
	j := m.job(t)
	if m.step(t, at, j, "acknowledged", "ack", j.id) {
		j.ended("acknowledged", at)
	}
}

// Fail ends what is held, or rejects what is offered.
func (m *machine) Fail(t *rapid.T) {
	at, me := m.place(t)
	j := m.job(t)
	args := []string{"fail", j.id, "--reason", "no"}
	if j.phase() == "open" && j.to == me && !m.hidden(j) && j.reaches(at) {
		if m.try(t, at, true, false, args...) {
			m.failed(j, at)
			j.by = "" // a rejection is not remembered: repeated, it is refused
		}
		return
	}
	if m.step(t, at, j, "failed", args...) {
		m.failed(j, at)
	}
}

func (m *machine) failed(j *job, at string) {
	j.ended("failed", at)
	if j.back != "" {
		m.follows(j, j.back, j.home, at).back = ""
	}
}

// follows is the handoff in which another one goes on.
func (m *machine) follows(j *job, to, home, at string) *job {
	next := &job{from: m.agents[at], to: to, origin: at, dest: home, back: j.back, expires: m.clock.Add(7 * 24 * time.Hour)}
	next.offered()
	m.due = append(m.due, next)
	return next
}

func (m *machine) Reroute(t *rapid.T) {
	at, me := m.place(t)
	j := m.job(t)
	to, home, target := m.address(t, at)
	if m.hidden(j) || m.down != nil && home == hubName {
		t.Skip("the hub is down")
	}
	holds := j.phase() == "held" && j.holder == at
	may := j.reaches(at) && (holds || j.mayWithdraw(me, m.clock))
	if m.try(t, at, may, holds || j.origin == at || j.home == at, "reroute", j.id, "--to", target) {
		j.ended("rerouted", at)
		m.follows(j, to, home, at)
	}
}

func (m *machine) Revoke(t *rapid.T) {
	at, me := m.place(t)
	j := m.job(t)
	queued := j.phase() == "queued"
	may := !m.hidden(j) && (j.reaches(at) && j.mayWithdraw(me, m.clock) || queued && j.origin == at && m.down == nil)
	if !m.try(t, at, may, j.origin == at || j.home == at, "revoke", j.id) {
		return
	}
	if queued { // it never left
		m.jobs = slices.DeleteFunc(m.jobs, func(other *job) bool { return other == j })
		return
	}
	j.ended("revoked", at)
}

func (m *machine) Sync(t *rapid.T) {
	at, _ := m.place(t)
	if m.down != nil {
		r := m.run(at, "sync")
		require.Contains(t, []int{0, 5, 8}, r.code, "%s", r)
		return
	}
	m.synced(t, at)
}

// synced takes the steps that were kept, and delivers what waits.
func (m *machine) synced(t *rapid.T, at string) {
	r := m.run(at, "sync")
	t.Logf("%s: sync: %s", at, r)
	dropped := false
	for j, step := range m.kept[at] {
		stands := j.phase() == "held" && j.holder == at && j.claim == step.claim
		if step.rejects {
			stands = j.phase() == "open"
		}
		if !stands {
			dropped = dropped || !step.rejects
			m.lost[at] = m.lost[at] || step.rejects // or it is over anyhow
			continue
		}
		switch step.event {
		case "progressed":
			j.renew(m.clock, j.term)
		case "released":
			j.released()
		case "failed":
			m.failed(j, at)
			if step.rejects {
				j.by = ""
			}
		default:
			j.ended(step.event, at)
		}
	}
	clear(m.kept[at])
	for _, j := range m.jobs {
		if j.phase() == "queued" && j.origin == at {
			j.offered()
		}
	}
	switch {
	case dropped:
		require.Equal(t, 5, r.code, "%s", r)
	case m.lost[at]:
		require.Contains(t, []int{0, 5}, r.code, "%s", r)
	default:
		require.Zero(t, r.code, "%s", r)
	}
	delete(m.lost, at)
}

// GC collects what has expired, of what the place knows.
func (m *machine) GC(t *rapid.T) {
	at, me := m.place(t)
	r := m.run(at, "gc", "--expired", "--json")
	t.Logf("%s: gc: %s", at, r)
	for _, id := range handoffID.FindAllString(r.out, -1) {
		i := slices.IndexFunc(m.jobs, func(j *job) bool { return j.id == id && j.phase() != "ended" })
		if i < 0 {
			continue // a checkpoint
		}
		j := m.jobs[i]
		require.True(t, m.clock.After(j.expires) && j.mayWithdraw(me, m.clock), "%s was collected", id)
		if !m.hidden(j) {
			j.ended("expired", at)
		}
	}
	if m.down == nil {
		require.Zero(t, r.code, "%s", r)
	}
}

// Upkeep is what git does by itself, and what people do.
func (m *machine) Upkeep(t *rapid.T) {
	repo := m.hub
	if at := rapid.SampledFrom(append([]string{""}, m.names...)).Draw(t, "where"); at != "" {
		repo = m.places[at].Repo
	} else if m.down != nil {
		t.Skip("the hub is down")
	}
	args := rapid.SampledFrom([][]string{
		{"gc", "--quiet", "--prune=now"}, {"pack-refs", "--all"}, {"fetch", "--prune", "--quiet"},
	}).Draw(t, "git")
	if args[0] == "fetch" && (repo == m.hub || m.down != nil) {
		t.Skip("from where?")
	}
	repo.Git(m.t, args...)
}

// Hub takes the hub away, or brings it back.
func (m *machine) Hub(*rapid.T) {
	if m.down == nil {
		m.down = m.away(m.t)
		return
	}
	m.down()
	m.down = nil
}

// Clock passes time, and sometimes jumps back.
func (m *machine) Clock(t *rapid.T) {
	m.clock = m.clock.Add(rapid.SampledFrom([]time.Duration{
		time.Second, 2 * time.Minute, time.Hour + time.Second, 3 * time.Hour, 8 * 24 * time.Hour, -10 * time.Minute,
	}).Draw(t, "time"))
}
