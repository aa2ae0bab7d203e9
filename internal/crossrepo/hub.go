package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Hub is the repository behind an alias, as a home. It implements
// lifecycle.Home.
type Hub struct {
	Alias *Alias
	Repo  *refs.Repo // this repository, where copies are kept

	// Lanes judges what a fetch brought of lanes; nil where nothing is believed of
	// them anyway.
	Lanes LaneJudge

	read    sync.Map // lanes that were fetched in this command
	refused sync.Map // tracking refs of lanes that were not taken over, and why
}

// ID implements lifecycle.Home.
func (h *Hub) ID() string { return h.Alias.RepoID }

// Answers implements lifecycle.Home.
func (h *Hub) Answers(repoID string) bool { return h.Alias.Answers(repoID) }

// Space implements lifecycle.Home.
func (h *Hub) Space() refs.Space { return refs.TrackingSpace(h.Alias.RepoID) }

var fetchArgs = []string{
	"fetch", "--quiet", "--no-tags", "--no-filter", "--refmap=", "--no-write-fetch-head",
	"--no-recurse-submodules", "--no-auto-maintenance", "--no-write-commit-graph",
}

// Refresh implements lifecycle.Home: one fetch for inboxes, pruned, and then
// one for lanes, never forced and never pruned: they are the memory.
func (h *Hub) Refresh(ctx context.Context, want lifecycle.Want) error {
	if specs := h.inboxSpecs(want); len(specs) > 0 {
		if err := h.fetch(ctx, []string{"--prune", "--no-show-forced-updates"}, specs); err != nil {
			return h.unreachable(err)
		}
	}
	return h.refreshLanes(ctx, want.Lanes)
}

// AllInboxes in a lifecycle.Want asks for the inboxes of all agents.
const AllInboxes = "*"

// WantAll asks for the inbox ref of one handoff and for its lane.
func WantAll(p lifecycle.Place) lifecycle.Want {
	return lifecycle.Want{Places: []lifecycle.Place{p}, Lanes: []handoff.ID{p.ID}}
}

// manyPlaces is where naming each handoff costs more than to fetch all inboxes:
// each is two refspecs, for which git looks through all refs, and a command line
// has its limit.
const manyPlaces = 500

func (h *Hub) inboxSpecs(want lifecycle.Want) []string {
	var specs []string
	add := func(agent string, suffix string) {
		from := refs.LocalSpace.Inbox(agent, "") + suffix
		to := h.Space().Inbox(agent, "") + suffix
		specs = append(specs, "+"+from+":"+to)
	}
	if slices.Contains(want.Inboxes, AllInboxes) || len(want.Places) > manyPlaces {
		return []string{"+" + string(refs.LocalSpace) + "inbox/*:" + string(h.Space()) + "inbox/*"}
	}
	for _, agent := range want.Inboxes {
		add(agent, "*")
	}
	for _, p := range want.Places {
		if p.Agent != "" {
			add(p.Agent, string(p.ID)+"*")
		}
		if p.Agent != refs.Nobody {
			add(refs.Nobody, string(p.ID)+"*")
		}
	}
	slices.Sort(specs)
	return slices.Compact(specs)
}

func (h *Hub) refreshLanes(ctx context.Context, ids []handoff.ID) error {
	var specs []string
	for _, id := range ids {
		specs = append(specs, refs.LocalSpace.Lane(id)+"*:"+h.Space().Lane(id)+"*")
	}
	if err := h.FetchLanes(ctx, specs); err != nil {
		return err
	}
	for _, id := range ids {
		h.read.Store(id.Lane(), true)
	}
	return nil
}

// Reached implements lifecycle.Home.
func (h *Hub) Reached(id handoff.ID) bool {
	_, ok := h.read.Load(id.Lane())
	return ok
}

// Forget lets every lane be fetched anew: whoever waits asks again each time.
func (h *Hub) Forget() { h.read.Clear() }

// FetchedLane notes that the copy of a lane was fetched in this command.
func (h *Hub) FetchedLane(copied string) {
	h.read.Store(strings.TrimPrefix(copied, h.Space().Lanes()), true)
}

// RefreshAllLanes brings in every lane of the hub: what an audit needs.
func (h *Hub) RefreshAllLanes(ctx context.Context) error {
	return h.FetchLanes(ctx, []string{h.allLanes()})
}

func (h *Hub) FetchLanes(ctx context.Context, specs []string) error {
	if len(specs) == 0 {
		return nil
	}
	slices.Sort(specs)
	for again := true; ; again = false {
		before, err := h.lanesOf(ctx, specs)
		if err != nil {
			return err
		}
		mended, err := h.fetchForward(ctx, specs)
		switch {
		case err != nil:
			return err
		case !mended:
			return h.takeOver(ctx, specs, before)
		case !again:
			return h.rollback(h.RemoteName(h.Space().Lanes()))
		}
	}
}

// fetchForward moves copies of lanes on, and never back. Mended says that it did not,
// and put back a copy that was in the way.
func (h *Hub) fetchForward(ctx context.Context, specs []string) (mended bool, err error) {
	// To show forced updates is to look for them: told not to, git takes every
	// update for a fast-forward, and would let a hub rewrite what we remember.
	err = h.fetch(ctx, []string{"--no-prune", "--show-forced-updates"}, slices.Compact(specs))
	if gitexec.ExitCode(err) == 1 {
		// git got the answer and would not move a ref. Is it no fast-forward?
		back, mended, berr := h.rewound(ctx)
		switch {
		case berr != nil:
			return false, berr
		case back != "":
			return false, h.rollback(back)
		case mended:
			return true, nil
		}
	}
	return false, h.unreachable(err)
}

// rewound names a lane that the hub moved back or forked; "" where none. A copy that
// only has more because it took a merge of a stranger over is put back first.
func (h *Hub) rewound(ctx context.Context) (back string, mended bool, err error) {
	there, err := h.RemoteLanes(ctx)
	if err != nil {
		return "", false, err
	}
	ours, err := h.Repo.List(ctx, h.Space().Lanes())
	if err != nil {
		return "", false, err
	}
	for _, lane := range ours {
		tip := there[h.RemoteName(lane.Name)]
		if tip == "" || tip == lane.OID || h.ancestor(ctx, lane.OID, tip) {
			continue
		}
		cut, err := h.cut(ctx, lane, tip)
		if err != nil {
			return "", false, err
		}
		if !cut {
			return h.RemoteName(lane.Name), mended, nil
		}
		mended = true
	}
	return "", mended, nil
}

func (h *Hub) fetch(ctx context.Context, flags, specs []string) error {
	args := append(append(slices.Clone(fetchArgs), flags...), "--", h.Alias.target())
	var memory []refs.Ref // of what a gc took
	for try := 0; ; try++ {
		gc := h.Repo.Collecting()
		cmd := gitexec.Cmd{Args: append(args, specs...), Timeout: gitexec.RemoteTimeout}
		if !strings.HasPrefix(h.Alias.RepoID, fileScheme) { // there the hub's git would be bound by it
			cmd.Env = []string{gitexec.MaxAlloc(128)} // a table of a million objects takes half of that
		}
		if gc {
			// As a pack, which git keeps from gc until the refs lead to it.
			cmd.Args = append([]string{"-c", "fetch.unpackLimit=1"}, cmd.Args...)
		}
		_, err := h.Repo.Runner.Run(ctx, cmd)
		if err == nil {
			h.stamp()
			_ = h.Repo.PackMany(ctx, h.Space()) // one that cannot now is as right as before
			return h.recalled(ctx, memory)
		}
		gone, herr := h.heal(ctx)
		if herr != nil {
			return herr
		}
		memory = append(memory, gone...)
		// Two fetches of one clone meet at the lock of a tracking ref; a gc beside
		// one may take what it has just brought.
		again := gitexec.ExitCode(err) == 1 || len(gone) > 0 || gc || h.Repo.Collecting()
		if !again || try == 3 {
			return err
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

func (h *Hub) unreachable(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || fault.As(err) != nil {
		return err
	}
	// Was it this clone that could not take the answer?
	var e *gitexec.Error
	if errors.As(err, &e) {
		if lock := lockAmong(strings.Split(e.Stderr, "\n")); strings.HasPrefix(lock, h.Repo.CommonDir+"/") {
			return refs.Locked(lock)
		}
	}
	if locks, lerr := h.Repo.Locks(time.Now()); lerr == nil {
		for _, l := range locks {
			if l.Age > time.Second {
				return refs.Locked(l.Path)
			}
		}
	}
	return fault.New(fault.Unavailable, fault.RemoteUnavailable, "%s (%s) cannot be read: %s", h.Alias.Name, h.Alias.URL, GitSaid(err)).
		WithHints(fault.Run("git", "ls-remote", "--", h.Alias.target()).Because("says more"))
}

// GitSaid is what git wrote until it gave up, escaped: some of it came from the
// hub.
func GitSaid(err error) string {
	if err == nil {
		return "git names no reason"
	}
	var e *gitexec.Error
	if !errors.As(err, &e) || e.Stderr == "" {
		return err.Error()
	}
	var said []string
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		rest, final := strings.CutPrefix(line, "fatal: ")
		if rest != "" {
			said = append(said, rest)
		}
		if final && !strings.HasSuffix(rest, ":") { // else it says why on the next
			break
		}
	}
	return Quote(strings.Join(said, "; "))
}

// Apply implements lifecycle.Home with one atomic push. Each ref is leased at
// the value that was validated; a push is believed only where every ref reports
// a change. One that is refused may have moved a ref all the same: git at the hub
// leaves out, of an atomic push as well, each ref whose history it could not look
// into, and moves the others. Then half of a step is there, and the copies say which.
func (h *Hub) Apply(ctx context.Context, t refs.Transaction) error {
	// A copy that is elsewhere already saves the trip. It must not be made, either:
	// a ref that is at its new value is up to date for git, whatever its lease
	// says, and the others would move.
	if err := h.refusedAmong(t.Edits); err != nil {
		return err
	}
	if _, moved, err := h.compare(ctx, t.Edits); err != nil {
		return err
	} else if len(moved) > 0 {
		return &refs.StaleError{Refs: moved}
	}
	const tries = 5
	for try := 0; ; try++ {
		// Again with each try: a gc may have taken what no ref leads to yet.
		if err := h.Repo.Write(t.Objects...); err != nil {
			return err
		}
		report, err := h.push(ctx, t.Edits)
		if err == nil && report.accepted(t.Edits) {
			return h.follow(ctx, t)
		}
		if h.guardRefusal(err) == nil && report.refusedForGood(t.Edits) {
			return h.refusal(t.Edits, report, err)
		}
		if rerr := h.Refresh(ctx, lifecycle.WantOf(h, t.Edits)); rerr != nil {
			return rerr
		}
		if err := h.refusedAmong(t.Edits); err != nil {
			return err
		}
		done, moved, cerr := h.compare(ctx, t.Edits)
		switch {
		case cerr != nil:
			return cerr
		case done: // it was applied and the answer got lost
			return h.follow(ctx, t)
		case len(moved) > 0:
			return &refs.StaleError{Refs: moved}
		case try+1 == tries, try > 0 && len(report.flag) == 0, // it said nothing of any ref
			h.guardRefusal(err) != nil:
			return h.diagnose(ctx, t.Edits, report, err)
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

func (h *Hub) push(ctx context.Context, edits []refs.Edit) (*report, error) {
	return h.PushAs(ctx, edits, h.RemoteName)
}

// PushAs pushes with there saying what each ref is called at the hub.
func (h *Hub) PushAs(ctx context.Context, edits []refs.Edit, there func(string) string) (*report, error) {
	args := []string{"push", "--porcelain", "--atomic", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"}
	for _, e := range edits {
		args = append(args, "--force-with-lease="+there(e.Ref)+":"+e.Old)
	}
	args = append(args, "--", h.Alias.target())
	for _, e := range edits {
		args = append(args, e.New+":"+there(e.Ref))
	}
	out, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: args, Timeout: gitexec.RemoteTimeout, Finish: true})
	return parseReport(out), err
}

// RemoteName is the hub's own name of a tracking ref.
func (h *Hub) RemoteName(ref string) string {
	return refs.Root + strings.TrimPrefix(ref, string(h.Space()))
}

// compare reads the copies after a refresh: whether every edit is in place, and
// which refs are not where the edits expected them.
func (h *Hub) compare(ctx context.Context, edits []refs.Edit) (done bool, moved []string, err error) {
	done = true
	for _, e := range edits {
		now, err := h.Repo.Resolve(ctx, e.Ref)
		if err != nil {
			return false, nil, err
		}
		done = done && now == e.New
		if now != e.Old {
			moved = append(moved, h.RemoteName(e.Ref))
		}
	}
	return done, moved, nil
}

// follow lets this repository's copies and its own refs follow an accepted
// push. A copy that somebody else's fetch moved meanwhile is newer: it stays.
func (h *Hub) follow(ctx context.Context, t refs.Transaction) error {
	err := h.Repo.Apply(ctx, refs.Transaction{Edits: t.Edits, Objects: t.Objects, Aside: t.Aside})
	var stale *refs.StaleError
	if !errors.As(err, &stale) {
		return err
	}
	var behind []refs.Edit
	for _, e := range t.Edits {
		if now, rerr := h.Repo.Resolve(ctx, e.Ref); rerr == nil && now == e.Old {
			behind = append(behind, e)
		}
	}
	if err := h.Repo.Apply(ctx, refs.Transaction{Edits: behind, Aside: t.Aside}); err != nil {
		return fmt.Errorf("note what %s accepted: %w", h.Alias.Name, err)
	}
	return nil
}
