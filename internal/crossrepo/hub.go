package crossrepo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// Hub is the repository behind an alias, as a home. It implements
// lifecycle.Home.
type Hub struct {
	asking
	scouted sync.Map // tips of the lanes looked at before a first try
}

var _ lifecycle.RemoteHome = (*Hub)(nil)

// NewHub makes the hub behind an alias. Copies of its refs are kept in repo. The
// judge says which lanes may be copied; nil where nothing is believed of them.
func NewHub(a *Alias, repo *refs.Repo, judge LaneJudge) *Hub {
	h := &Hub{asking: asking{lanes: lanes{remote: remote{Alias: a, Repo: repo}, judge: judge}}}
	h.namespace, h.mirrorAt = refs.TrackingNamespace(a.RepoID), refs.MirrorNamespace(a.RepoID)
	return h
}

// ID implements lifecycle.Home.
func (h *Hub) ID() string { return h.Alias.RepoID }

// Is implements lifecycle.Home.
func (h *Hub) Is(repoID string) bool { return h.Alias.Is(repoID) }

// Apply implements lifecycle.Home with one atomic push, shared by several steps under Together.
// Each ref is leased at the value that was validated; a push is believed only if every ref
// reports a change. A refused push may still have moved a ref: git at the hub leaves out each
// ref whose history it could not look into, even from an atomic push, and moves the others.
// Then half of a step is there, and the next fetch shows which half.
func (h *Hub) Apply(ctx context.Context, t refs.Transaction) error {
	if s := seatOf(ctx); s != nil {
		return s.wait(ctx, h, t)
	}
	return applyAlone(ctx, h, t)
}

func applyAlone(ctx context.Context, h *Hub, t refs.Transaction) error {
	// A copy that has already moved saves the trip. The push must not be made, either: git
	// takes a ref at its new value for up to date, whatever its lease, and would move the
	// others.
	if err := h.checkRefused(t.Edits); err != nil {
		return err
	}
	if _, moved, err := h.compare(ctx, t.Edits); err != nil {
		return err
	} else if len(moved) > 0 {
		return &refs.StaleError{Refs: moved}
	}
	edits := t.Edits
	const tries = 5
	for try := 0; ; try++ {
		// Again with each try: a gc may have taken what no ref leads to yet.
		if err := h.Repo.Store.Write(t.Objects...); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err // git would finish a push that begins now
		}
		report, err := h.Push(ctx, edits)
		if err == nil && report.accepted(edits) {
			return landed(ctx, h, t)
		}
		if try == 0 && h.hasty && report.overtaken(h, t.Edits) {
			return errOvertaken(h, t.Edits)
		}
		if h.guardRefusal(err) == nil && report.refusedForGood(t.Edits) {
			return refusal(ctx, h, t.Edits, report, err)
		}
		silent := len(report.flag) == 0 && (try > 0 || gitexec.TimedOut(err)) // it said nothing of any ref
		rest, applied, err := unapplied(ctx, h, t, edits, report, err, silent || try+1 == tries)
		switch {
		case err != nil:
			return inDoubt(report, err)
		case applied:
			return follow(ctx, h, t)
		}
		edits = rest
		if err := refs.Pause(ctx, try); err != nil {
			return err
		}
	}
}

// unapplied reads the hub after a failed push and returns the edits to push once more. If
// applied is true there are none: the push was applied, and its answer got lost. After the last
// try, cause and report explain the refusal.
func unapplied(ctx context.Context, h *Hub, t refs.Transaction, edits []refs.Edit, report *report, cause error, last bool) (rest []refs.Edit, applied bool, err error) {
	if err := h.Refresh(ctx, lifecycle.FetchSpecFor(h, t.Edits)); err != nil {
		return nil, false, err
	}
	if err := h.checkRefused(t.Edits); err != nil {
		return nil, false, err
	}
	done, moved, err := h.compare(ctx, t.Edits)
	if err == nil && (done || len(moved) == 0) {
		edits, err = h.remaining(ctx, edits, done)
	}
	switch {
	case err != nil:
		return nil, false, err
	case done && len(edits) == 0:
		return nil, true, nil
	case !done && len(moved) > 0:
		met(h, t.Edits, moved)
		return nil, false, &refs.StaleError{Refs: moved, Read: true}
	case last, h.guardRefusal(cause) != nil:
		return nil, false, h.diagnose(ctx, t.Edits, report, cause)
	}
	return edits, false, nil
}

// compare reads the copies after a refresh: whether every edit is in place, and
// which refs are not where the edits expected them.
func (h *Hub) compare(ctx context.Context, edits []refs.Edit) (done bool, moved []string, err error) {
	done = true
	for _, e := range h.copied(edits) {
		now, err := h.Repo.Resolve(ctx, e.Ref)
		if err == nil && now == "" {
			now, err = lostTip(&h.remote, e.Ref)
		}
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

// landed records a push accepted by the hub.
func landed(ctx context.Context, h *Hub, t refs.Transaction) error {
	deleted := slices.ContainsFunc(t.Edits, func(e refs.Edit) bool { return e.New == "" })
	forgetRefusals(&h.remote, deleted)
	met(h, t.Edits, nil)
	return follow(ctx, h, t)
}

// isLane reports whether a ref of this hub's namespace is a lane.
func isLane(h *Hub, ref string) bool { return strings.HasPrefix(ref, h.Namespace().Lanes()) }

// follow lets this repository's copies and its own refs follow an accepted push. A copy moved
// meanwhile by another fetch is newer and stays. An interrupt does not end it: the step was
// taken.
func follow(ctx context.Context, h *Hub, t refs.Transaction) error {
	ctx = context.WithoutCancel(ctx)
	h.pushed(t.Edits)
	edits, err := h.followed(ctx, t.Edits)
	if err != nil {
		return err
	}
	err = h.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: t.Objects, LocalEdits: t.LocalEdits})
	if _, ok := errors.AsType[*refs.StaleError](err); !ok {
		return err
	}
	var behind []refs.Edit
	for _, e := range edits {
		if now, rerr := h.Repo.Resolve(ctx, e.Ref); rerr == nil && now == e.Old {
			behind = append(behind, e)
		}
	}
	if err := h.Repo.Apply(ctx, refs.Transaction{Edits: behind, LocalEdits: t.LocalEdits}); err != nil {
		return fmt.Errorf("note what %s accepted: %w", h.Alias.Name, err)
	}
	return nil
}

// LooksFirst implements lifecycle.RemoteHome. A refused push is followed by a look and by
// another push, so the look comes first where the first push is likely to fail: two connections
// in place of three. The result of the last offer predicts the next one. A lane without a copy
// in this clone counts as moved, unless the clone has read the whole log, or nothing of the hub
// at all.
func (h *Hub) LooksFirst(ctx context.Context, id handoff.ID) bool {
	if h.LaneIsFresh(id) {
		return false
	}
	lane := h.Namespace().Lane(id)
	tip, err := h.Repo.Resolve(ctx, lane)
	if err != nil {
		return false
	}
	k := readKnown(&h.remote)
	if !k.Moved && k.Unshown == "" && (tip != "" || k.Whole || h.LastRead().IsZero()) {
		return false
	}
	h.scouted.Store(lane, tip)
	return true
}

// met notes whether the lanes of a push were where this clone had them.
func met(h *Hub, edits []refs.Edit, moved []string) {
	for _, e := range edits {
		if tip, ok := h.scouted.LoadAndDelete(e.Ref); ok {
			note(&h.remote, func(k *known) { k.Moved = tip != e.Old })
		}
		if strings.HasPrefix(e.Ref, h.Namespace().Lanes()) && slices.Contains(moved, h.RemoteName(e.Ref)) {
			note(&h.remote, func(k *known) { k.Moved = true })
		}
	}
}

// recent is the greatest age of the last read of a hub for a claim without a look.
const recent = time.Hour

// MayClaimSeen reports whether it is worth a try to claim what this clone knows of a hub: it
// read the hub a short time ago, and the last such try was not in vain.
func MayClaimSeen(h *Hub) bool {
	return time.Since(h.LastRead()) < recent && !readKnown(&h.remote).Contested
}

// idle is how long an agent may leave the hub alone without emptying its inbox. Meanwhile
// others changed the inbox as far as they worked, not as far as they could claim.
const idle = 10 * time.Minute

// LooksAtAll reports whether an agent sharing its inbox with a crowd should fetch all of it,
// with the log: it has not done so for a while, or was busy otherwise, and this clone fetches
// the log along.
func LooksAtAll(h *Hub) bool {
	looked := time.Unix(readKnown(&h.remote).Looked, 0)
	return h.wantsLog() && (time.Since(looked) >= recent || time.Since(h.LastRead()) >= idle)
}

// LookedAtAll notes such a look.
func LookedAtAll(h *Hub) {
	note(&h.remote, func(k *known) { k.Looked = time.Now().Unix() })
}

// LearnSeen moves the copy of a lane on to the mirror of an earlier look, and reports whether
// the copy then says everything the look brought. A claim on that state needs no look: it is
// leased at what was seen, so the hub refuses it if anything has moved.
func LearnSeen(ctx context.Context, h *Hub, id handoff.ID) bool {
	s, err := h.shownOf(ctx, h.Namespace().Lane(id))
	if err != nil || s.was == "" && s.now == "" || h.Refused(s.name) != nil {
		return false
	}
	if ahead, err := h.extends(ctx, s.was, s.now); err != nil || ahead {
		return err == nil // a step of this clone has moved the copy on since
	}
	if h.judge != nil && h.judge.MayMove(ctx, s.was, s.now) != nil {
		return false
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: s.name, Old: s.was, New: s.now}}}) == nil
}

// Along adds spec to the next look at a hub, whatever its reason. The returned end reports
// whether there was a look, and withdraws spec.
func Along(h *Hub, spec lifecycle.FetchSpec) (end func() (looked bool)) {
	h.along = &spec
	return func() bool {
		looked := h.along == nil
		h.along = nil
		return looked
	}
}

// Hastily makes the next steps at a hub give up with ErrOvertaken if another step on the same
// handoff came first, without asking the hub about it. The returned end undoes this.
func Hastily(h *Hub) (end func()) {
	h.hasty = true
	return func() { h.hasty = false }
}

// ErrOvertaken says that nothing of a step was sent: the list of refs at the start of the push
// showed that the handoff had moved on.
var ErrOvertaken = fmt.Errorf("another step came first: %w", refs.ErrRefused)

func errOvertaken(h *Hub, edits []refs.Edit) error {
	f := fault.New(fault.Conflict, fault.Claimed, "others changed %s at %s first", h.RemoteName(edits[0].Ref), h.Alias.Name)
	f.Err = ErrOvertaken
	return f
}

// NoteSeenClaim notes whether a claim tried without a look came too late.
func NoteSeenClaim(h *Hub, late bool) {
	note(&h.remote, func(k *known) { k.Contested = late })
}

// known caches the findings about a hub for the next command. The file may be deleted at
// any time.
type known struct {
	KeepsRefs string `json:"keepsRefs,omitempty"` // why the hub deletes no ref, in its own words
	Refused   string `json:"refused,omitempty"`   // why it refused the last push of a step for good
	Unshown   string `json:"unshown,omitempty"`   // a ref it took, and its value, until a look shows it
	Shows     bool   `json:"shows,omitempty"`     // it has shown a ref it took
	Guarded   bool   `json:"guarded,omitempty"`   // a guard answered
	Whole     bool   `json:"whole,omitempty"`     // this clone has read the whole log
	Moved     bool   `json:"moved,omitempty"`     // others had moved the lane of the last offer
	Contested bool   `json:"contested,omitempty"` // the last claim without a look came too late
	Looked    int64  `json:"looked,omitempty"`    // when an agent of a crowd last fetched the whole inbox, in Unix seconds
	Narrow    int64  `json:"narrow,omitempty"`    // when the hub last showed more than a log of handoffs can be, in Unix seconds
}

func knownFile(h *remote) string {
	return h.Repo.Own("hubs/" + path.Base(string(h.Namespace())) + ".json")
}

// readKnown reads the findings, once for a command.
func readKnown(h *remote) known {
	if k := h.known.Load(); k != nil {
		return *k
	}
	k := &known{}
	raw, err := private.ReadState(knownFile(h), private.MaxState)
	if err != nil || json.Unmarshal(raw, k) != nil {
		*k = known{}
	}
	h.known.Store(k)
	return *k
}

// note changes the findings. Another command of this clone may have changed the file since
// it was read, so it is read again before it is written. If it cannot be written, the next
// command looks again.
func note(h *remote, change func(*known)) {
	k := readKnown(h)
	if change(&k); k == readKnown(h) {
		return
	}
	h.known.Store(nil)
	k = readKnown(h)
	change(&k)
	h.known.Store(&k)
	file := knownFile(h)
	if k == (known{}) {
		if err := os.Remove(file); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	raw, err := json.Marshal(k)
	if err == nil {
		_ = private.WriteFile(file, raw)
	}
}

// KeepsRefs returns the refusal of a hub known to this clone to delete no ref: whatever is sent
// there, or taken from there, could never end. It is nil where nothing is known.
func KeepsRefs(h *Hub) error {
	k := readKnown(&h.remote)
	if k.KeepsRefs == "" {
		return nil
	}
	return fault.New(fault.Unavailable, fault.HubKeepsRefs, "%s refuses to delete refs below %s, so no handoff can end there: %s", h.Alias.Name, h.Alias.Root(), Quote(k.KeepsRefs)).
		WithHints(settingFor(&h.remote, k.KeepsRefs, true), fault.Run("githandoff", "doctor", h.Alias.Name).Because("tests it again after the fix"))
}

// LastRefusal returns the refusal of the last step sent by this clone to a hub, if the hub refused
// it for a lasting reason.
func LastRefusal(h *Hub) error {
	k := readKnown(&h.remote)
	if k.Refused == "" {
		return nil
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s refused the last push of this clone: %s", h.Alias.Name, Quote(k.Refused)).
		WithHints(settingFor(&h.remote, k.Refused, false), fault.Run("githandoff", "doctor", h.Alias.Name).Because("tests it again after the fix"))
}

// forgetRefusals notes an accepted push; deleted says whether it deleted a ref.
func forgetRefusals(h *remote, deleted bool) {
	note(h, func(k *known) {
		if k.Refused = ""; deleted {
			k.KeepsRefs = ""
		}
	})
}
