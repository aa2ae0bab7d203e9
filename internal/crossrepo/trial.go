package crossrepo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Trial is the result of trial pushes to a hub. A probe in inbox/ and one in work/ were created in one atomic
// push, read back, one of them moved while the other was deleted, and both deleted. No ref can be tried in
// log/ like that, because nobody has to let one be deleted there: a push of two refs, of which git keeps
// only one, shows whether the hub lets it come that far.
type Trial struct {
	Refused    error    // first requirement that the hub did not meet; nil if it met all
	Guarded    bool     // a guard answered
	Early      bool     // an older guard refused the probes, and nothing else was tried
	WasGuarded bool     // a guard answered before, and none answers now
	Untried    []string // what could not be tried
	Left       []string // refs that the trial made and could not delete
	Swept      int      // number of probes of earlier trials that were deleted
}

// A trial ends within minutes, unless it is killed: then a later one deletes its probes after probeAge. The name
// of a probe begins with its time, because its commit has none.
const (
	probeAge  = 24 * time.Hour
	mostSwept = 100 // largest number of old probes that one trial deletes
)

// trial returns a fresh name for probes, and their objects: a blob of size random bytes, which git
// cannot compress, and last a commit, which a guard requires to be a [refs.Carrier].
func trial(h *remote, random io.Reader, size int) (name string, objects []*refs.Object, err error) {
	if name, err = handoff.RandomHex(random); err != nil {
		return "", nil, err
	}
	name = fmt.Sprintf("%08x", uint32(time.Now().Unix())) + name[8:]
	body := make([]byte, size)
	if _, err := io.ReadFull(random, body); err != nil {
		return "", nil, fmt.Errorf("read random bits: %w", err)
	}
	blob := refs.NewObject(h.Repo.Format, "blob", body)
	objects = append([]*refs.Object{blob}, refs.Carrier(blob.OID, "")...)
	return name, objects, h.Repo.Store.Write(objects...)
}

func tipOf(objects []*refs.Object) string { return objects[len(objects)-1].OID }

// Try pushes probes to a hub to find out what it accepts. An error means that this clone could not try.
func Try(ctx context.Context, h *Hub, random io.Reader) (*Trial, error) {
	n, objects, err := trial(&h.remote, random, handoff.MaxEnvelope)
	if err != nil {
		return nil, err
	}
	inbox, work := h.Namespace().Probe(refs.KindInbox, n), h.Namespace().Probe(refs.KindWork, n)
	made := []refs.Edit{{Ref: inbox, New: tipOf(objects)}, {Ref: work, New: tipOf(objects)}}
	guarded := h.book.findings().Guarded
	t := &Trial{}
	report, pushed := h.Push(ctx, refs.Transaction{Edits: made, Objects: objects})
	refusal := h.guardRefusal(pushed)
	switch {
	case report.refusedAsHidden() != "": // a guard's refusal does not count: an older one refuses each probe
		t.Refused = h.errPushRefused(ctx, made, report, pushed)
	case refusal != nil:
		h.book.note(func(k *findings) { k.Guarded = true })
		if t.Guarded, t.Early = true, true; errors.Is(refusal, ErrGuardElsewhere) {
			t.Refused = refusal
		}
		return t, nil
	case pushed != nil && len(report.lines) == 0 && !gitexec.TimedOut(pushed): // git sent nothing
		t.Refused = h.diagnose(ctx, made, report, pushed)
		return t, nil
	case pushed != nil || !report.Accepted(made):
		t.Refused = h.diagnose(ctx, made, report, pushed)
	default:
		err = t.whole(ctx, h, random, made)
	}
	if t.Refused != nil || err != nil {
		t.clean(context.WithoutCancel(ctx), &h.remote, tipOf(objects), inbox, work)
		return t, err
	}
	h.book.forgetRefusals(true)
	t.WasGuarded = guarded && !t.Guarded
	return t, nil
}

// whole runs the rest of a trial, after a hub has taken the probes.
func (t *Trial) whole(ctx context.Context, h *Hub, random io.Reader, made []refs.Edit) (err error) {
	inbox, work := made[0], made[1]
	there, err := h.listed(ctx, probeTimeout, h.probes(refs.KindInbox, "*"), h.probes(refs.KindWork, "*"))
	if err != nil {
		return err
	}
	if t.Refused = readBack(ctx, h, there, inbox.New, inbox.Ref, work.Ref); t.Refused != nil {
		return nil //nolint:nilerr // the refusal is the result of the trial
	}
	n, other, err := trial(&h.remote, random, 1)
	if err != nil {
		return err
	}
	moved := tipOf(other)
	t.step(ctx, h, []refs.Edit{{Ref: inbox.Ref, Old: inbox.New, New: moved}, {Ref: work.Ref, Old: work.New}}, other...)
	t.step(ctx, h, []refs.Edit{{Ref: inbox.Ref, Old: moved}})
	if t.Refused == nil {
		t.sweep(ctx, h, there)
		err = t.log(ctx, h, n, other)
	}
	return err
}

// log finds out whether pushes to the log come as far as git's own store of refs, and whether fetches see it.
func (t *Trial) log(ctx context.Context, h *Hub, n string, objects []*refs.Object) (err error) {
	// The hub takes pushes to the inbox, so its answer there shows how it refuses two refs that
	// cannot both exist.
	taken, log := h.Namespace().Probe(refs.KindInbox, n), h.Namespace().Probe(refs.KindLog, n)
	known, _, _ := t.clash(ctx, &h.remote, taken, objects)
	report, edits, pushed := t.clash(ctx, &h.remote, log, objects)
	switch refused := h.guardRefusal(pushed); {
	case report.refusedAsHidden() != "": // a guard refuses this probe in any case
		t.Refused = h.errPushRefused(ctx, edits, report, pushed)
		return nil
	case refused != nil:
		t.Guarded = true
		h.book.note(func(k *findings) { k.Guarded = true })
		t.Untried = append(t.Untried, "whether a hook update, which runs after the guard, takes "+h.RemoteName(h.Namespace().Lanes()))
	case !maps.Equal(report.below(h.RemoteName(log)), known.below(h.RemoteName(taken))):
		t.Refused = h.diagnose(ctx, edits, report, pushed)
		return nil
	}
	var empty bool
	if empty, t.Refused, err = logHidden(ctx, h, tipOf(objects)); empty {
		t.Untried = append(t.Untried, "whether fetches see "+h.RemoteName(h.Namespace().Lanes())+", which is empty")
	}
	return err
}

// clash pushes a ref and another one below it. No git keeps both.
func (t *Trial) clash(ctx context.Context, h *remote, ref string, objects []*refs.Object) (*pushReport, []refs.Edit, error) {
	edits := []refs.Edit{{Ref: ref, New: tipOf(objects)}, {Ref: ref + "/x", New: tipOf(objects)}}
	report, err := h.Push(ctx, refs.Transaction{Edits: edits, Objects: objects})
	if err == nil {
		t.clean(context.WithoutCancel(ctx), h, tipOf(objects), ref+"/x", ref)
	}
	return report, edits, err
}

// undeletable are words of Gitea about a branch that a rule protects. Its hook refuses the push as a
// whole, so git's line of the ref does not tell that the deletion is the reason.
const undeletable = "protected from deletion"

// keepsRefs reports whether the hub refused a push because it deletes a ref: the hub says so, or it
// takes a push that deletes nothing. The refusal of the deletion alone proves nothing: a hook that
// refuses every ref is asked about the first one only.
func keepsRefs(ctx context.Context, h *remote, edits []refs.Edit, r *pushReport) bool {
	own, alone := r.culprits(), len(edits) == 1
	if alone {
		own = []string{r.culprit()}
	}
	i := slices.IndexFunc(edits, func(e refs.Edit) bool { return e.New == "" && slices.Contains(own, h.RemoteName(e.Ref)) })
	if i < 0 {
		return false
	}
	why := r.lines[h.RemoteName(edits[i].Ref)].summary
	if strings.Contains(why, "delet") || strings.Contains(r.said, undeletable) {
		return true
	}
	along := func(line reportLine) bool { return slices.Contains(goesAlong, strings.TrimPrefix(line.summary, byHub)) }
	return (alone || slices.ContainsFunc(slices.Collect(maps.Values(r.lines)), along)) && takesOthers(ctx, h, why)
}

// takesOthers reports whether a hub that refused a deletion takes other pushes. It pushes two refs
// of which git keeps nothing: another refusal means that the deletion was the reason. It is true if
// the hub cannot be asked.
func takesOthers(ctx context.Context, h *remote, refusal string) bool {
	n, objects, err := trial(h, rand.Reader, 1)
	if err != nil {
		return true
	}
	report, _, _ := (&Trial{}).clash(ctx, h, h.Namespace().Probe(refs.KindInbox, n), objects)
	return report.lines[report.culprit()].summary != refusal
}

// below returns the summaries of refs, by their names after ref.
func (r *pushReport) below(ref string) map[string]string {
	rest := map[string]string{}
	for name, line := range r.lines {
		rest[strings.TrimPrefix(name, ref)] = line.summary
	}
	return rest
}

// logHidden refuses a hub that has lanes and shows none to a fetch. empty means that it has no
// lane.
func logHidden(ctx context.Context, h *Hub, commit string) (empty bool, refused, err error) {
	shown, err := h.RemoteLanes(ctx)
	if err != nil || len(shown) > 0 {
		return false, nil, err
	}
	var all []refs.Ref
	for _, name := range handoff.Lanes() {
		all = append(all, refs.Ref{Name: h.Namespace().Lanes() + name, OID: commit})
	}
	lines, err := shownToPush(ctx, &h.remote, all...)
	for _, lane := range all { // git refuses to create a ref that exists
		if name := h.RemoteName(lane.Name); lines[name].flag == '!' {
			return false, h.Alias.errHidden(name), nil
		}
	}
	if len(lines) == len(all) {
		err = nil // some servers end each push with an error
	}
	return err == nil, nil, err
}

// step makes one push of a trial, unless the trial was refused before.
func (t *Trial) step(ctx context.Context, h *Hub, edits []refs.Edit, objects ...*refs.Object) {
	if t.Refused != nil {
		return
	}
	report, err := h.Push(ctx, refs.Transaction{Edits: edits, Objects: objects})
	if err != nil || !report.Accepted(edits) {
		t.Refused = h.diagnose(ctx, edits, report, err)
	}
}

// clean deletes the refs left by a trial, and notes those it cannot delete. A hub may refuse to
// delete a ref that it does not have: then git would create that ref.
func (t *Trial) clean(ctx context.Context, h *remote, commit string, copies ...string) {
	for _, ref := range copies {
		name := h.RemoteName(ref)
		settings, target := untracked(h)
		out, err := h.connect(ctx, gitexec.Cmd{
			Args: slices.Concat(settings, pushArgs, []string{"--", target, ":" + name}), Timeout: gitexec.RemoteTimeout, Finish: true,
		})
		report := parseReport(out)
		if err == nil || report.lines[name].flag == '-' || report.refusedAsHidden() != "" {
			continue
		}
		if lines, _ := shownToPush(ctx, h, refs.Ref{Name: ref, OID: commit}); lines[name].flag != '*' {
			t.Left = append(t.Left, name)
		}
	}
}

// probes returns the hub's name of a probe.
func (h *Hub) probes(kind, name string) string { return h.RemoteName(h.Namespace().Probe(kind, name)) }

// sweep deletes the refs that killed trials left at a hub. If another trial does so at the same
// time, nothing is deleted here.
func (t *Trial) sweep(ctx context.Context, h *Hub, there map[string]string) {
	var old []refs.Edit
	for _, kind := range []string{refs.KindInbox, refs.KindWork} {
		for name, oid := range there {
			n, ok := strings.CutPrefix(name, h.probes(kind, ""))
			ref := h.Namespace().Probe(kind, n)
			if !ok || !h.Namespace().IsProbe(ref) || len(old) == mostSwept {
				continue
			}
			made, err := strconv.ParseUint(n[:8], 16, 32)
			if err == nil && time.Since(time.Unix(int64(made), 0)) > probeAge {
				old = append(old, refs.Edit{Ref: ref, Old: oid})
			}
		}
	}
	if len(old) == 0 {
		return
	}
	if report, err := h.Push(ctx, refs.Transaction{Edits: old}); err == nil && report.Accepted(old) {
		t.Swept = len(old)
	}
}

// readBack looks for the refs of a trial among those that fetches see. A ref that they do not see is
// hidden, or gone: git sends no deletion of a ref that the hub does not show to those who push.
func readBack(ctx context.Context, h *Hub, there map[string]string, commit string, copies ...string) (refused error) {
	for _, ref := range copies {
		name := h.RemoteName(ref)
		if there[name] != "" {
			continue
		}
		deletion := []refs.Edit{{Ref: ref, Old: commit}}
		if report, perr := h.Push(ctx, refs.Transaction{Edits: deletion}); perr != nil && report.overtaken(h, deletion) {
			return h.Alias.errNotKept(name)
		}
		return h.Alias.errHidden(name)
	}
	h.book.note(func(k *findings) { k.Unshown, k.Shows = "", true })
	return nil
}

// LostGuard returns the problem of a hub whose guard answered once and does not any more.
func LostGuard(h *Hub) error {
	return fault.New(fault.Other, fault.Problem, "%s had a guard and has none now: it takes every push", h.Alias.Name).
		WithHints(fault.Fact("at the hub, githandoff hook install --server restores it; some servers overwrite their hooks"),
			fault.Run("rm", h.book.file).Because("if it was removed on purpose"))
}

// TakesBranches reports whether a hub takes below refs/heads what it refuses elsewhere.
func TakesBranches(ctx context.Context, h *Hub, random io.Reader) bool {
	if h.Alias.Prefix != "" {
		return false
	}
	before := h.book.findings()
	other := *h.Alias
	other.Prefix = BranchPrefix
	trial, err := Try(ctx, NewHub(&other, h.Repo, nil), random)
	h.book.forget() // the trial replaced the findings with its own
	h.book.note(func(k *findings) { *k = before })
	return err == nil && trial.Refused == nil && !trial.Guarded
}
