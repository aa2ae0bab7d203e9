package crossrepo

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// probeTimeout bounds the first question to a hub: a person waits for it.
const probeTimeout = 30 * time.Second

// Probe has the findings of a dry run against a hub.
type Probe struct {
	Holds     int      // number of handoff refs that the hub shows
	Refused   error    // reason why the hub takes no atomic push, or hides a ref; nil if it takes pushes
	Elsewhere []string // other prefixes below which the hub has handoffs
	Here      bool     // the hub has lanes below the prefix of this clone
	Lost      error    // the hub lacks a lane that this clone has seen; nil if it lacks none
}

// Probe asks a hub what it is good for, and changes nothing there: it pushes a fresh commit to
// a new ref, as a dry run. An error means that the hub cannot even be read.
//
// A dry run ends before the hub's own hooks and hidden refs have their say. A hub is only
// certain to take custom refs once it holds some.
func (h *Hub) Probe(ctx context.Context, random io.Reader) (*Probe, error) {
	there, err := h.listed(ctx, probeTimeout, h.Alias.Root()+"*", anyLane)
	if err != nil {
		return nil, err
	}
	p := probed(h.Alias, slices.Collect(maps.Keys(there)))
	n, objects, err := trial(&h.remote, random, 1)
	if err != nil {
		return nil, err
	}
	made := []refs.Edit{{Ref: h.Namespace().Probe(refs.KindInbox, n), New: tipOf(objects)}}
	unwritable := h.unwritablePath()
	switch plain := h.dryRun(ctx, made, "--no-atomic"); {
	case gitexec.TimedOut(plain) || gitexec.Unexplained(plain):
		return nil, h.errUnreachable(plain)
	case plain != nil:
		said := GitSaid(plain)
		p.Refused = cmp.Or(errFormat(&h.remote, said), h.Alias.errReadOnly(said))
	case unwritable != nil:
		p.Refused = unwritable
	default:
		switch atomic := h.dryRun(ctx, made, "--atomic"); {
		case gitexec.TimedOut(atomic) || gitexec.Unexplained(atomic):
			return nil, h.errUnreachable(atomic)
		case atomic != nil:
			p.Refused = h.Alias.errNoAtomic()
		default:
			p.Refused = hidden(ctx, &h.remote, there)
		}
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

// unwritablePath returns the refusal of a hub's path that this user cannot write to; nil if he can. A dry
// run succeeds anyway.
func (h *Hub) unwritablePath() error {
	path, local := h.Alias.Path()
	if !local {
		return nil
	}
	for _, dir := range []string{path + "/.git/refs", path + "/refs"} {
		switch err := unix.Access(dir, unix.W_OK); err {
		case nil:
			return nil
		case unix.EROFS:
			return refs.DiskFault(&fs.PathError{Op: "write to", Path: dir, Err: err})
		case unix.EACCES:
			return h.Alias.errReadOnly("its files belong to somebody else")
		}
	}
	return nil
}

func (a *Alias) errReadOnly(why string) error {
	if settingOf(why) == badSetting {
		return a.errBadSetting(why)
	}
	other := fault.See("repo add").Because("names another repository; this one cannot be a home without the right to push")
	return fault.New(fault.Unavailable, fault.ReadOnly, "%s is read-only for you: %s", a.Name, why).WithHints(a.settingOr(why, other))
}

func (a *Alias) errNoAtomic() error {
	return fault.New(fault.Unavailable, fault.NoAtomicPush, "%s does not take atomic pushes", a.Name).
		WithHints(fault.Fact("at the hub: git config receive.advertiseAtomic true; without atomic pushes there is no safe way"))
}
