package crossrepo

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
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
	Holds   int   // refs under refs/handoffs that it shows
	Refused error // it can be read and not pushed to, or not atomically
}

// Probe asks a hub what it is good for, and changes nothing there: it pushes a
// fresh commit to a ref that nobody has, as a dry run. An error means that the
// hub cannot even be read.
//
// A dry run ends before the hub's own hooks and hidden refs have their say. That
// a hub takes custom refs is only certain once it holds some.
func (h *Hub) Probe(ctx context.Context, now time.Time, random io.Reader) (*Probe, error) {
	out, err := connect(ctx, &h.remote, gitexec.Cmd{
		Args: []string{"ls-remote", "--", h.Alias.target(), refs.Root + "*"}, Timeout: probeTimeout,
	})
	if err != nil {
		return nil, h.errUnreachable(err)
	}
	p := &Probe{Holds: strings.Count(string(out), "\n")}
	edits, err := h.trial(now, random)
	if err != nil {
		return nil, err
	}
	switch plain := h.dryRun(ctx, edits, "--no-atomic"); {
	case plain != nil:
		p.Refused = errReadOnly(h, GitSaid(plain))
	case !h.writablePath():
		p.Refused = errReadOnly(h, "its files belong to somebody else")
	case h.dryRun(ctx, edits, "--atomic") != nil:
		p.Refused = errNoAtomic(h)
	}
	return p, nil
}

// trial is a push that nobody has made before.
func (h *Hub) trial(now time.Time, random io.Reader) ([]refs.Edit, error) {
	var nonce [16]byte
	if _, err := io.ReadFull(random, nonce[:]); err != nil {
		return nil, fmt.Errorf("read random bits: %w", err)
	}
	name := hex.EncodeToString(nonce[:])
	who := fmt.Sprintf("githandoff <githandoff@localhost> %d +0000", now.Unix())
	tree := refs.NewObject("tree", nil)
	commit := refs.NewObject("commit", fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\nprobe %s\n", tree.OID, who, who, name))
	if err := h.Repo.Store.Write(tree, commit); err != nil {
		return nil, err
	}
	return []refs.Edit{{Ref: string(h.Namespace()) + "doctor/" + name, New: commit.OID}}, nil
}

// writablePath: a dry run into a directory does not notice that it is not ours.
func (h *Hub) writablePath() bool {
	path, local := filePath(h.Alias.RepoID)
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

func errReadOnly(h *Hub, why string) error {
	return fault.New(fault.Unavailable, fault.ReadOnly, "%s is read-only for you: %s", h.Alias.Name, why).
		WithHints(fault.See("repo add").Because("names another repository; this one cannot be a home"))
}

func errNoAtomic(h *Hub) error {
	return fault.New(fault.Unavailable, fault.NoAtomicPush, "%s does not take atomic pushes", h.Alias.Name).
		WithHints(fault.Fact("at the hub: git config receive.advertiseAtomic true; without atomic pushes there is no safe way"))
}
