package crossrepo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Copies lists the refs whose objects a hub has: the copies of its lanes and inboxes, and the handoffs that
// were sent, of which it may have those that are open.
func Copies(ctx context.Context, h *Hub) ([]refs.Ref, error) {
	return h.Repo.List(ctx, recoverable(&h.remote)...)
}

func recoverable(h *remote) []string {
	return []string{h.Namespace().Lanes(), string(h.Namespace()) + "inbox/", h.Mirror().Lanes(), refs.Root + "sent/"}
}

// Mend brings the objects of [Copies] that are lost in this clone, or whose files are damaged. It
// returns the names of the refs that lacked them. A hub whose lane lacks what this clone has seen of it is refused.
func Mend(ctx context.Context, h *Hub) (names []string, err error) {
	return mend(ctx, &h.remote, recoverable(&h.remote)...)
}

// mendLane is like Mend for the copy of one lane and its mirror. An object that the hub has lost as well
// stays lost, which is no error.
func mendLane(ctx context.Context, h *lanes, s *laneTips) error {
	_, err := mend(ctx, &h.remote, s.name, h.mirrored(s.name))
	if err != nil && !fault.Is(err, fault.MissingObject) && !errors.As(err, new(*refs.StaleError)) { // stale: another command mends it
		return err
	}
	*s, err = h.tipsOf(ctx, s.name)
	return err
}

// recordsOf names what this clone has of the places and the lanes of spec.
func recordsOf(h *remote, spec lifecycle.FetchSpec) []string {
	var names []string
	for _, p := range spec.Places {
		names = append(names, h.Namespace().Inbox(p.Agent, p.ID), refs.Sent(p.Agent, p.ID))
	}
	for _, id := range spec.Lanes {
		names = append(names, h.Namespace().Lane(id), h.Mirror().Lane(id))
	}
	return names
}

// mend is like Mend for the refs that match patterns. The copy of a lane is a memory, and stays where it
// is. Another copy goes if the hub has its objects no more.
func mend(ctx context.Context, h *remote, patterns ...string) (names []string, err error) {
	list, err := h.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	lost, err := refs.FindLost(ctx, h.Repo, list)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	if err := bringObjects(ctx, h, lost); err != nil {
		return nil, h.errUnreachable(err)
	}
	list = nil
	for _, l := range lost {
		names, list = append(names, l.Name), append(list, l.Ref)
	}
	if lost, err = refs.FindLost(ctx, h.Repo, list); err != nil {
		return nil, err
	}
	var gone []refs.Edit
	var rewound error
	for _, l := range lost {
		switch {
		case h.Namespace().InLog(l.Name):
			rewound = errLost(h, l.Name)
		case refs.IsCopy(l.Name):
			gone = append(gone, refs.Edit{Ref: l.Name, Old: l.OID})
		}
	}
	return names, errors.Join(h.Repo.Apply(ctx, refs.Transaction{Edits: gone}), rewound)
}

func errLost(h *remote, lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s has rewritten %s of its log, which this clone has seen and lost", h.Alias.Name, h.RemoteName(lane)).
		WithHints(fault.Fact("a clone that has all of that log brings the hub up to date: githandoff sync %s, there", h.Alias.Name))
}

// bringObjects fetches all objects of some refs into a new repository, and moves them into this one. A
// fetch into this one would not bring them: git writes no object over a damaged file, fetches nothing
// for a ref that stands where the hub's does, and nothing at all beside a ref whose commit is lost.
func bringObjects(ctx context.Context, h *remote, list []refs.Lost) error {
	dir, err := os.MkdirTemp(h.Repo.Objects, "tmp_githandoff_") // after a kill, git prunes what begins with tmp_
	if err != nil {
		return refs.DiskFault(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	objects := filepath.Join(dir, "objects")
	env := []string{"GIT_DIR=" + dir, "GIT_COMMON_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="}
	include := func(file string) []string {
		return []string{"config", "--file", filepath.Join(dir, "config"), "--add", "include.path", file}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template="},
		include(filepath.Join(h.Repo.CommonDir, "config")),
		include(filepath.Join(h.Repo.GitDir, "config.worktree")),
	} {
		if _, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: args, Env: env}); err != nil {
			return err
		}
	}
	specs := make([]string, len(list))
	for i, l := range list {
		name := nameAtHub(h, l.Name)
		specs[i] = specOf(name, name)
	}
	slices.Sort(specs)
	args := slices.Concat([]string{"-c", "fetch.unpackLimit=1"}, fetchArgs, []string{"--", h.Alias.target()}, slices.Compact(specs))
	if _, err := connect(ctx, h, gitexec.Cmd{Args: args, Env: append(env, fetchRequest{}.memory(h)...), Timeout: gitexec.RemoteTimeout}); err != nil {
		return err
	}
	if err := h.Repo.Store.Adopt(objects); err != nil {
		return err
	}
	_, err = h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"prune-packed", "--quiet"}}) // the damaged files go
	return err
}

// nameAtHub returns the hub's name of a ref that Copies lists.
func nameAtHub(h *remote, name string) string {
	if place, ok := strings.CutPrefix(name, refs.Root+"sent/"); ok {
		name = string(refs.LocalNamespace) + "inbox/" + place
	}
	return h.RemoteName(name)
}
