package stress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/lifecycle"
)

func (m *machine) place(h *hand) (at, agent string) {
	at = pick(h, "place", m.names...)
	return at, m.agents[at]
}

// job draws a handoff. A step calls it before it draws anything else: rapid stops making steps if many are
// skipped after a draw.
func (m *machine) job(h *hand) *job {
	if len(m.jobs) == 0 {
		h.skip("nothing was offered yet")
	}
	if h.rapid != nil {
		var over, lives []*job
		for _, j := range m.jobs {
			if j.phase() == "ended" {
				over = append(over, j)
			} else {
				lives = append(lives, j)
			}
		}
		j := pick(h, "handoff", append(lives, over...)...) // rapid draws the first ones more often
		h.drawn["handoff"] = j.born
		return j
	}
	i := slices.IndexFunc(m.jobs, func(j *job) bool { return j.born == h.drawn["handoff"] })
	if i < 0 {
		h.skip("the step that made it was left out")
	}
	return m.jobs[i]
}

// held draws a handoff and a place, about half of the time that of the holder.
func (m *machine) held(h *hand) (at string, j *job) {
	j = m.job(h)
	if at, _ = m.place(h); j.holder != "" && h.n("who", 2) == 0 {
		at = j.holder
	}
	return at, j
}

// hidden reports whether the home of a handoff is out of reach now.
func (m *machine) hidden(j *job) bool { return m.waits(j.home) }

// waits reports whether what goes to this home waits for it.
func (m *machine) waits(home string) bool { return m.down != nil && home == hubName }

// address draws a receiver: an agent at one of the hubs, or the agent of the place itself.
func (m *machine) address(h *hand, at string) (agent, home, arg string) {
	if h.n("here", 4) == 0 {
		return m.agents[at], at, m.agents[at]
	}
	agent = pick(h, "to", "boss", "fixer")
	if h.n("hub", 4) == 0 {
		return agent, otherName, agent + "@other"
	}
	return agent, hubName, agent + "@origin"
}

func (m *machine) Emit(h *hand) {
	at, me := m.place(h)
	to, home, target := m.address(h, at)
	j := &job{born: m.born(), from: me, to: to, origin: at, dest: home}
	ttl := pick(h, "ttl", 2*time.Hour, 7*24*time.Hour)
	j.expires = m.clock.Add(ttl)
	m.serial++
	args := []string{"emit", "--once", "--task", fmt.Sprint("T-", m.serial), "--to", target, "--goal", "g", "--ttl", ttl.String()}
	if h.n("back", 2) == 1 {
		j.back = me
		args = append(args, "--on-failure", me)
	}
	if h.n("snapshot", 3) == 0 {
		args = append(args, m.carry(j))
	}
	queue := isHub(home) && h.n("queue", 4) == 0
	if queue {
		args = append(args, "--queue")
	}
	m.jobs = append(m.jobs, j)
	if m.waits(home) && !queue {
		r := m.run(at, args...)
		m.exits(r, 8)
		j.id = strings.TrimSpace(r.Stdout)
		m.script.printed(r.Stdout)
		return
	}
	if !queue {
		j.offered()
	}
	_, said := m.do(h, at, true, args...)
	j.id = handoffID.FindString(said)
}

func (m *machine) Resume(h *hand) {
	j := m.job(h)
	at, me := m.place(h)
	if me != j.to && h.n("who", 2) == 0 {
		at, me = j.to, j.to // boss and fixer work at places of the same names
	}
	late := h.n("allow expired", 2) == 1
	lease := pick(h, "lease", time.Minute, time.Hour)
	args := []string{"resume", j.id, "--lease", lease.String()}
	if late {
		args = append(args, "--allow-expired")
	}
	may := !m.hidden(j) && j.mayClaim(at, me, m.clock, true, late)
	if done, _ := m.do(h, at, may, args...); done {
		j.claimed(at, m.clock, lease)
	}
}

// ResumeAny takes any waiting handoff. It may take none only if none waits.
func (m *machine) ResumeAny(h *hand) {
	at, me := m.place(h)
	var waits, shown []*job // shown: held here and overdue, so it may be shown again
	for _, j := range m.jobs {
		switch {
		case m.hidden(j) || !j.open():
		case j.holder == at && j.free(m.clock, false):
			shown = append(shown, j)
		case j.holder != at && j.mayClaim(at, me, m.clock, false, false):
			waits = append(waits, j)
		}
	}
	r := m.run(at, "resume", "--next", "--json")
	switch {
	case r.Code == 0 && len(waits)+len(shown) == 0:
		m.exits(r, 3)
	case r.Code != 0 && len(waits) > 0 && m.down == nil:
		m.exits(r, 0)
	case r.Code != 0:
		m.exits(r, 3, 4, 8)
		require.True(m.t, len(waits) == 0 || r.Code == 8, "%s waits: %s", waits, r)
		return
	}
	id := handoffID.FindString(r.Stdout)
	i := slices.IndexFunc(m.jobs, func(j *job) bool { return j.id == id })
	require.GreaterOrEqual(m.t, i, 0, "%s", r)
	j := m.jobs[i]
	if !slices.Contains(slices.Concat(waits, shown), j) {
		m.script.add("! stdout " + id)
		require.Fail(m.t, "handed out", "%s: %s", id, r)
	}
	if len(waits)+len(shown) > 1 {
		m.script.chose(at, id)
	}
	j.claimed(at, m.clock, time.Hour)
}

// step takes a step of a holder. It returns whether the step was taken.
func (m *machine) step(h *hand, at string, j *job, event string, args ...string) bool {
	holds := m.holds(at, j)
	if !m.hidden(j) && (!m.waits(j.dest) || j.phase() != "queued") {
		// If this place ended the handoff in the same way before, the repeated command succeeds.
		again := j.receipt == event && j.by == at && (event == "acknowledged" || event == "failed") ||
			event == "failed" && m.kept[at][j].rejects && m.rejected(at, j.id)
		if again || holds && (event != "progressed" || m.kept[at][j].event == event) { // a renewal does not replace a kept end
			delete(m.kept[at], j) // the step replaces the kept one
		}
		if kept, ok := m.kept[at][j]; ok && !holds && !kept.rejects {
			delete(m.kept[at], j) // the command reports that the claim is lost, and drops its kept step
			m.lost[at] = true
		}
		done, _ := m.do(h, at, holds || again, args...)
		return done && holds
	}
	r := m.run(at, args...)
	switch {
	case holds:
		m.exits(r, 8)
		if old, ok := m.kept[at][j]; !ok || event != "progressed" || old.event == "progressed" {
			m.kept[at][j] = kept{event: event, claim: j.claim}
		}
	case r.Code == 8 && event == "failed" && j.to == m.agents[at] && strings.Contains(r.Stderr, "is kept"):
		m.kept[at][j] = kept{event: event, rejects: true}
	case r.Code == 8:
		if event != "progressed" && strings.Contains(r.Stderr, "is kept") {
			delete(m.kept[at], j) // an end on a claim that nobody has seen replaces a rejection
		}
		m.lost[at] = true
	case j.receipt != event || j.by != at:
		m.exits(r, 3, 4, 5) // 4: another agent's handoff
	}
	return false
}

func (m *machine) Progress(h *hand) {
	at, j := m.held(h)
	if m.step(h, at, j, "progressed", "progress", j.id) {
		j.renew(m.clock, j.term)
	}
}

func (m *machine) Release(h *hand) {
	at, j := m.held(h)
	if m.step(h, at, j, "released", "release", j.id) {
		j.released()
	}
}

// Ack ends a held handoff, and sometimes gives the files of this place back to the sender.
func (m *machine) Ack(h *hand) {
	at, j := m.held(h)
	args := []string{"ack", j.id}
	var answer *job
	if m.holds(at, j) && !m.hidden(j) && h.n("answer", 4) == 0 {
		answer = m.next(j, j.from, j.home, at)
		answer.back = ""
		args = append(args, m.carry(answer))
	}
	if !m.step(h, at, j, "acknowledged", args...) {
		return
	}
	j.ended("acknowledged", at)
	if answer != nil {
		answer.offered()
		m.due = append(m.due, answer)
	}
}

func (m *machine) holds(at string, j *job) bool { return j.phase() == "held" && j.holder == at }

// Fail ends a held handoff, or rejects an offered one. Sometimes the files of this place go back with it.
func (m *machine) Fail(h *hand) {
	at, j := m.held(h)
	me := m.agents[at]
	args := []string{"fail", j.id, "--reason", "no"}
	carries := j.carries
	if m.holds(at, j) && !m.hidden(j) && j.back != "" && h.n("files", 4) == 0 {
		again := &job{origin: at}
		args = append(args, m.carry(again))
		carries = again.carries
	}
	if j.phase() == "open" && j.to == me && !m.hidden(j) && j.reaches(at) {
		if m.try(h, at, true, false, args...) {
			m.failed(j, at)
			j.by = "" // a rejection is not remembered, so a repeated one is refused
		}
		return
	}
	if m.step(h, at, j, "failed", args...) {
		j.carries = carries
		m.failed(j, at)
	}
}

// rejected reports whether a handoff was rejected with the key of a place. A rejection names no claim: if this place
// kept one, it takes that receipt for its own, even if its twin gave it.
func (m *machine) rejected(at, id string) bool {
	return slices.ContainsFunc(m.jobs, func(j *job) bool {
		return j.id == id && j.receipt == "failed" && j.by == "" && j.to == m.agents[at]
	})
}

func (m *machine) failed(j *job, at string) {
	j.ended("failed", at)
	if j.back != "" {
		m.follows(j, j.back, j.home, at).back = ""
	}
}

// follows returns the new handoff that continues j.
func (m *machine) follows(j *job, to, home, at string) *job {
	next := m.next(j, to, home, at)
	next.offered()
	m.due = append(m.due, next)
	return next
}

// next returns a handoff that continues j, before it is offered.
func (m *machine) next(j *job, to, home, at string) *job {
	return &job{
		born: m.born(), parent: j, from: m.agents[at], to: to, origin: at, dest: home,
		back: j.back, carries: j.carries, expires: m.clock.Add(7 * 24 * time.Hour),
	}
}

func (m *machine) Reroute(h *hand) {
	j := m.job(h)
	at, me := m.place(h)
	to, home, target := m.address(h, at)
	if m.hidden(j) {
		return
	}
	holds := m.holds(at, j)
	may := j.reaches(at) && (holds || j.mayWithdraw(me, m.clock))
	if m.waits(home) { // what it goes on as waits for the hub
		r := m.run(at, "reroute", j.id, "--to", target)
		if !may || handoffID.FindString(r.Stdout) == "" && j.origin != at && j.home != at {
			m.exits(r, 3, 4, 5, 8)
			return
		}
		m.exits(r, 8)
		j.ended("rerouted", at)
		m.due = append(m.due, m.next(j, to, home, at))
		return
	}
	if m.try(h, at, may, holds || j.origin == at || j.home == at, "reroute", j.id, "--to", target) {
		j.ended("rerouted", at)
		m.follows(j, to, home, at)
	}
}

func (m *machine) Revoke(h *hand) {
	j := m.job(h)
	at, me := m.place(h)
	queued := j.phase() == "queued"
	may := !m.hidden(j) && (j.reaches(at) && j.mayWithdraw(me, m.clock) || queued && j.origin == at && !m.waits(j.dest))
	if !m.try(h, at, may, j.origin == at || j.home == at, "revoke", j.id) {
		return
	}
	if queued { // a handoff that was never delivered leaves no trace
		m.jobs = slices.DeleteFunc(m.jobs, func(other *job) bool { return other == j })
		return
	}
	j.ended("revoked", at)
}

func (m *machine) Sync(h *hand) {
	at, _ := m.place(h)
	m.synced(at)
}

// synced runs sync and takes the kept steps of a place in the model. Waiting handoffs are delivered. What a hub that
// is away keeps waiting stays.
func (m *machine) synced(at string) {
	r := m.run(at, "sync")
	dropped := false
	for _, j := range m.jobs {
		step, ok := m.kept[at][j]
		if !ok || m.hidden(j) {
			continue
		}
		delete(m.kept[at], j)
		stands := j.phase() == "held" && j.holder == at && j.claim == step.claim
		if step.rejects {
			stands = j.phase() == "open"
		}
		if !stands {
			dropped = dropped || !step.rejects
			m.lost[at] = m.lost[at] || step.rejects // the handoff may have ended otherwise
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
	for _, j := range m.jobs {
		if j.phase() == "queued" && j.origin == at && !m.waits(j.dest) {
			j.offered()
		}
	}
	switch {
	case m.down != nil:
		m.exits(r, 0, 5, 8)
		m.lost[at] = m.lost[at] || dropped
		return
	case dropped:
		m.exits(r, 5)
	case m.lost[at]:
		m.exits(r, 0, 5)
	default:
		m.exits(r, 0)
	}
	delete(m.lost, at)
}

// GC collects the expired handoffs that the place knows.
func (m *machine) GC(h *hand) {
	at, me := m.place(h)
	r := m.run(at, "gc", "--expired", "--json")
	for _, id := range handoffID.FindAllString(r.Stdout, -1) {
		i := slices.IndexFunc(m.jobs, func(j *job) bool { return j.id == id && j.phase() != "ended" })
		if i < 0 {
			continue // the id of a checkpoint
		}
		j := m.jobs[i]
		if !m.clock.After(j.expires) || !j.mayWithdraw(me, m.clock) {
			m.script.add("! stdout " + id)
			require.Fail(m.t, "collected", "%s: %s", id, r)
		}
		if !m.hidden(j) {
			j.ended("expired", at)
		}
	}
	if m.down == nil {
		m.exits(r, 0)
	}
}

// Upkeep runs the maintenance that git starts by itself, and that people run.
func (m *machine) Upkeep(h *hand) {
	where, gits := append([]string{otherName}, m.names...), [][]string{{"gc", "--quiet", "--prune=now"}, {"pack-refs", "--all"}}
	if m.down == nil {
		where = append([]string{hubName}, where...)
	}
	at := pick(h, "where", where...)
	if m.down == nil && !isHub(at) {
		gits = append(gits, []string{"fetch", "--prune", "--quiet"})
	}
	args := pick(h, "git", gits...)
	m.script.add("exec git -C " + at + " " + strings.Join(args, " "))
	m.At(at).Git(m.t, args...)
}

// Hub takes the hub away, or brings it back.
func (m *machine) Hub(*hand) {
	if m.down == nil {
		m.down = away(m.t, m.Fixture)
		m.script.add("mv hub.git hub.git.gone")
		return
	}
	m.down()
	m.down = nil
	m.script.add(hubBack)
}

// HubBack brings the hub back, so that it is there more often than not.
func (m *machine) HubBack(h *hand) {
	if m.down != nil {
		m.Hub(h)
	}
}

// Clock advances the time. Sometimes it moves the time back, by no more than clocks may differ: an entry from
// further ahead would not count yet.
func (m *machine) Clock(h *hand) {
	if m.clock.After(m.latest) {
		m.latest = m.clock
	}
	now := m.clock.Add(pick(h, "time", []time.Duration{
		time.Second, 2 * time.Minute, time.Hour + time.Second, 3 * time.Hour, 8 * 24 * time.Hour, -4 * time.Minute,
	}...))
	if least := m.latest.Add(-lifecycle.ClockSkew); now.Before(least) {
		now = least
	}
	m.time(now)
}
