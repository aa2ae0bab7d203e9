package crossrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// probeTimeout bounds the first question to a hub: a person waits for it.
const probeTimeout = 30 * time.Second

// Probe has the findings of a dry run against a hub.
type Probe struct {
	Holds     int      // refs of handoffs it shows
	Refused   error    // it can be read and not pushed to, or not atomically
	Elsewhere []string // other prefixes below which it has handoffs
	Here      bool     // it has lanes below the prefix of this clone
	Lost      error    // it lacks a lane that this clone has seen
}

// Probe asks a hub what it is good for, and changes nothing there: it pushes a fresh commit to
// a new ref, as a dry run. An error means that the hub cannot even be read.
//
// A dry run ends before the hub's own hooks and hidden refs have their say. A hub is only
// certain to take custom refs once it holds some.
func (h *Hub) Probe(ctx context.Context, now time.Time, random io.Reader) (*Probe, error) {
	there, err := h.listed(ctx, probeTimeout, h.Alias.Root()+"*", anyLane)
	if err != nil {
		return nil, err
	}
	p := probed(h.Alias, slices.Collect(maps.Keys(there)))
	t, err := h.trial(now, random, 0)
	if err != nil {
		return nil, err
	}
	switch plain := h.dryRun(ctx, t.Edits, "--no-atomic"); {
	case gitexec.TimedOut(plain):
		return nil, h.errUnreachable(plain)
	case plain != nil:
		said := GitSaid(plain)
		p.Refused = cmp.Or(errFormat(&h.remote, said), h.Alias.errReadOnly(said))
	case !h.writablePath():
		p.Refused = h.Alias.errReadOnly("its files belong to somebody else")
	case h.dryRun(ctx, t.Edits, "--atomic") != nil:
		p.Refused = h.Alias.errNoAtomic()
	default:
		p.Refused = hidden(ctx, &h.remote, there)
	}
	memory, err := h.Memory(ctx)
	if err != nil {
		return nil, err
	}
	if gone := h.missing(memory, there); len(gone) > 0 {
		p.Lost = h.Alias.errLaneGone(gone[0])
	}
	return p, nil
}

// probed returns the findings from the names of the refs at a hub.
func probed(a *Alias, names []string) *Probe {
	p := &Probe{}
	for _, name := range names {
		if strings.HasPrefix(name, a.Root()) {
			p.Holds++
		}
	}
	for _, home := range LanePrefixes(names) {
		if home == a.Below() {
			p.Here = true
		} else {
			p.Elsewhere = append(p.Elsewhere, home)
		}
	}
	return p
}

// trial returns a push never made before, with size bytes git cannot compress.
func (h *Hub) trial(now time.Time, random io.Reader, size int) (t refs.Transaction, err error) {
	name, err := handoff.RandomHex(random)
	if err != nil {
		return t, err
	}
	tree := refs.NewObject(h.Repo.Format, "tree", nil)
	objects := []*refs.Object{tree}
	if size > 0 {
		body := make([]byte, size)
		if _, err := io.ReadFull(random, body); err != nil {
			return t, fmt.Errorf("read random bits: %w", err)
		}
		blob := refs.NewObject(h.Repo.Format, "blob", body)
		listing, err := gitobj.EncodeTree([]gitobj.TreeEntry{{Mode: gitobj.File, Name: "probe", OID: blob.OID}})
		if err != nil {
			return t, err
		}
		tree = refs.NewObject(h.Repo.Format, "tree", listing)
		objects = []*refs.Object{blob, tree}
	}
	commit := refs.OwnCommit(tree.OID, "", now, "probe "+name)
	t.Objects = append(objects, commit)
	t.Edits = []refs.Edit{{Ref: string(h.Namespace()) + "doctor/" + name, New: commit.OID}}
	return t, h.Repo.Store.Write(t.Objects...)
}

// writablePath covers a dry run into somebody else's directory, which succeeds.
func (h *Hub) writablePath() bool {
	path, local := FilePath(h.Alias.RepoID)
	if !local {
		return true
	}
	for _, dir := range []string{path + "/.git/refs", path + "/refs"} {
		if err := unix.Access(dir, unix.F_OK); err == nil {
			return unix.Access(dir, unix.W_OK) == nil
		}
	}
	return true
}

func (a *Alias) errReadOnly(why string) error {
	other := fault.See("repo add").Because("names another repository; this one cannot be a home without the right to push")
	return fault.New(fault.Unavailable, fault.ReadOnly, "%s is read-only for you: %s", a.Name, why).WithHints(a.settingOr(why, other))
}

func (a *Alias) errNoAtomic() error {
	return fault.New(fault.Unavailable, fault.NoAtomicPush, "%s does not take atomic pushes", a.Name).
		WithHints(fault.Fact("at the hub: git config receive.advertiseAtomic true; without atomic pushes there is no safe way"))
}

// Trial is the result of trial pushes to a hub: two refs below refs/handoffs/doctor/ were
// created in one atomic push, read back, one of them moved while the other was deleted, and
// both deleted.
type Trial struct {
	Refused    error    // the first thing the hub did not do; nil if it did all
	Guarded    bool     // a guard refused the refs, as it must: it lets in handoffs alone, and below its own prefix
	WasGuarded bool     // a guard answered before, and none does now
	Left       []string // refs that could not be deleted again
}

// Try pushes throw-away refs to a hub to find out what it accepts. A guard hides part of the
// result. An error means that this clone could not try.
func Try(ctx context.Context, h *Hub, now time.Time, random io.Reader) (*Trial, error) {
	first, err := h.trial(now, random, handoff.MaxEnvelope)
	if err != nil {
		return nil, err
	}
	base, commit := first.Edits[0].Ref, first.Edits[0].New
	inbox, lane := base+"/inbox", base+"/log"
	made := []refs.Edit{{Ref: inbox, New: commit}, {Ref: lane, New: commit}}
	report, err := h.Push(ctx, refs.Transaction{Edits: made, Objects: first.Objects})
	before := h.book.findings()
	refusal := h.guardRefusal(err)
	switch {
	case refusal != nil && report.hidden() == "":
		h.book.note(func(k *findings) { k.Guarded = true })
		t := &Trial{Guarded: true}
		if errors.Is(refusal, ErrGuardElsewhere) {
			t.Refused = refusal
		}
		return t, nil
	case err != nil || !report.Accepted(made):
		return &Trial{Refused: h.diagnose(ctx, made, report, err)}, nil
	}
	t := &Trial{WasGuarded: before.Guarded}
	if t.Refused, err = readBack(ctx, h, commit, inbox, lane); err != nil {
		return nil, err
	}
	other, err := h.trial(now, random, 0)
	if err != nil {
		return nil, err
	}
	moved := other.Edits[0].New
	t.step(ctx, h, []refs.Edit{{Ref: lane, Old: commit, New: moved}, {Ref: inbox, Old: commit}}, other.Objects...)
	t.step(ctx, h, []refs.Edit{{Ref: lane, Old: moved}})
	if t.Refused == nil {
		h.book.forgetRefusals(true)
		return t, nil
	}
	t.clean(ctx, h, inbox, lane)
	return t, nil
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

// clean deletes the refs left by a refused trial, and names those it cannot.
func (t *Trial) clean(ctx context.Context, h *Hub, copies ...string) {
	for _, ref := range copies {
		name := h.RemoteName(ref)
		settings, target := untracked(&h.remote)
		_, err := h.connect(ctx, gitexec.Cmd{
			Args: append(settings, "push", "--quiet", "--no-verify", "--recurse-submodules=no", "--", target, ":"+name), Timeout: gitexec.RemoteTimeout, Finish: true,
		})
		if err != nil && !strings.Contains(fmt.Sprint(err), "does not exist") {
			t.Left = append(t.Left, name)
		}
	}
}

// readBack reads the refs of a trial back, as those who fetch see them. A ref that they do not see is
// hidden, or gone: git sends no deletion of a ref that the hub does not show to those who push.
func readBack(ctx context.Context, h *Hub, commit string, copies ...string) (refused, err error) {
	var names []string
	for _, ref := range copies {
		names = append(names, h.RemoteName(ref))
	}
	there, err := h.listed(ctx, probeTimeout, names...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if there[name] != "" {
			continue
		}
		deletion := []refs.Edit{{Ref: copies[i], Old: commit}}
		if report, perr := h.Push(ctx, refs.Transaction{Edits: deletion}); perr != nil && report.overtaken(h, deletion) {
			return h.Alias.errNotKept(name), nil
		}
		return h.Alias.errHidden(name), nil
	}
	h.book.note(func(k *findings) { k.Unshown, k.Shows = "", true })
	return nil, nil
}

// LostGuard returns the problem of a hub whose guard answered once and does not any more.
func LostGuard(h *Hub) error {
	return fault.New(fault.Other, fault.Problem, "%s had a guard and has none now: it takes every push", h.Alias.Name).
		WithHints(fault.Fact("at the hub, githandoff hook install --server restores it; some servers overwrite their hooks"),
			fault.Run("rm", h.book.file).Because("if it was removed on purpose"))
}

// TakesBranches reports whether a hub takes below refs/heads what it refuses elsewhere.
func TakesBranches(ctx context.Context, h *Hub, now time.Time, random io.Reader) bool {
	if h.Alias.Prefix != "" {
		return false
	}
	before := h.book.findings()
	other := *h.Alias
	other.Prefix = BranchPrefix
	trial, err := Try(ctx, NewHub(&other, h.Repo, nil), now, random)
	h.book.forget() // the trial noted its own findings
	h.book.note(func(k *findings) { *k = before })
	return err == nil && trial.Refused == nil && !trial.Guarded
}
