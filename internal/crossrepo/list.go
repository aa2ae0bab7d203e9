package crossrepo

import (
	"context"
	"path"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// List says where some refs of a hub stand now: names and object ids, and no object. Only a
// small part of a long inbox may be worth a fetch.
type List struct {
	Inboxes []refs.Ref // inbox refs of the agents asked for, under the names of their copies, sorted by handoff id

	hub   *fetcher
	lanes map[string]string // tips of the hub's lanes, by the names of their copies
}

// List asks the hub for the refs of some agents' inboxes, and for its lanes. git gets the names
// of all refs anyway. The list tells whether the hub has any lane, see [Hub.WhyEmpty].
func (h *fetcher) List(ctx context.Context, agents []string) (*List, error) {
	var patterns []string
	copyOf := map[string]string{}
	for _, agent := range agents {
		inbox := h.Namespace().Inbox(agent, "")
		patterns = append(patterns, h.RemoteName(inbox)+"*")
		copyOf[h.RemoteName(inbox)] = inbox
	}
	log := h.RemoteName(h.Namespace().Lanes())
	there, err := h.listed(ctx, gitexec.RemoteTimeout, append(patterns, log+"*")...)
	if err != nil {
		return nil, err
	}
	l := &List{hub: h, lanes: map[string]string{}}
	for name, oid := range there {
		dir, base := path.Split(name)
		if dir == log {
			l.lanes[h.Namespace().Lanes()+base] = oid
		}
		if _, err := handoff.ParseID(base); err == nil && copyOf[dir] != "" {
			l.Inboxes = append(l.Inboxes, refs.Ref{Name: copyOf[dir] + base, OID: oid})
		}
	}
	h.laneless.Store(len(l.lanes) == 0)
	slices.SortFunc(l.Inboxes, func(a, b refs.Ref) int { return strings.Compare(path.Base(a.Name), path.Base(b.Name)) })
	return l, nil
}

// Shows reports whether the hub has a copied inbox ref and the lane of its handoff at the same
// objects as this clone: then a fetch would bring neither. The lane is checked as after a fetch,
// and counts as read from the hub.
func (l *List) Shows(ctx context.Context, inbox refs.Ref, id handoff.ID) bool {
	h := l.hub
	lane := h.Namespace().Lane(id)
	tip := l.lanes[lane]
	if tip == "" || !slices.Contains(l.Inboxes, inbox) {
		return false
	}
	if now, err := h.Repo.Resolve(ctx, inbox.Name); err != nil || now != inbox.OID {
		return false
	}
	s, err := h.tipsOf(ctx, lane)
	switch {
	case err != nil:
		return false
	case s.now == tip:
	case s.was != tip:
		return false
	default: // a step of this clone moved the copy, and not the mirror
		edit := refs.Edit{Ref: h.mirrored(lane), Old: s.now, New: tip}
		if h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{edit}}) != nil {
			return false
		}
	}
	h.noteFetched([]handoff.ID{id}, false)
	if h.advance(ctx, []handoff.ID{id}) != nil || h.Stuck(lane) != nil {
		return false
	}
	h.stamp()
	return true
}
