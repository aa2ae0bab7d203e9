package agentsetup

import (
	"bytes"
	"os"
	"slices"

	"githandoff/internal/durable"
)

// PlanRemoval lists the effects of Remove for the clients of the request, or for all recorded
// ones if it names none.
func (r *Request) PlanRemoval() ([]*Change, error) {
	rec, err := r.record()
	if err != nil {
		return nil, err
	}
	for _, client := range r.Clients {
		known := slices.Contains(Clients(), client) || slices.ContainsFunc(rec.Files, func(w *written) bool { return w.Client == client })
		if !known {
			return nil, unknown(client)
		}
	}
	var changes []*Change
	for _, w := range rec.Files {
		if !r.holds(w) || len(r.Clients) > 0 && !slices.Contains(r.Clients, w.Client) {
			continue
		}
		if client := heir(r, rec, w); client != "" {
			changes = append(changes, &Change{Client: client, Path: w.Path, State: Same, own: w.Own})
			continue
		}
		c, err := planRemoval(w)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return append(changes, foreign(r, rec)...), nil
}

// foreign lists the files of the request's project that are as setup writes them, but that it did not write in
// this work tree: they were committed elsewhere, or the work tree was moved.
func foreign(r *Request, rec *record) []*Change {
	if !r.Project {
		return nil
	}
	clients := r.Clients
	if len(clients) == 0 {
		clients = Clients()
	}
	one := *r
	one.Without = nil
	var want []wanted
	for _, client := range clients {
		one.Clients = []string{client}
		list, _ := one.files() // a client that is set up for a user only has none
		want = append(want, list...)
	}
	var left []*Change
	for _, w := range merged(want) {
		if rec.find(w.path) != nil {
			continue
		}
		if c, err := plan(w, nil); err == nil && c.State == Same {
			c.State, c.Why = Foreign, "setup did not write it in this work tree: revert the commit that added it"
			left = append(left, c)
		}
	}
	return left
}

// heir returns a client that stays set up and has a recorded file as well, such as the skill that several
// clients read; "" if there is none.
func heir(r *Request, rec *record, w *written) string {
	if len(r.Clients) == 0 {
		return ""
	}
	for _, client := range rec.clients(r) {
		if slices.Contains(r.Clients, client) {
			continue
		}
		one := *r
		one.Clients, one.Without, one.With = []string{client}, nil, nil
		list, _ := one.files() // a client of an earlier version has none
		if slices.ContainsFunc(list, func(o wanted) bool { return rec.find(o.path) == w }) {
			return client
		}
	}
	return ""
}

// holds reports whether a recorded file is of the request's scope: of its project, or of
// this user.
func (r *Request) holds(w *written) bool {
	return w.Root == r.project()
}

// project returns the top of the work tree of the request's project; empty where it is for
// this user.
func (r *Request) project() string {
	if r.Project {
		return r.Root
	}
	return ""
}

func planRemoval(w *written) (*Change, error) {
	now, exists, err := read(w.Path)
	if err != nil {
		return nil, err
	}
	c := &Change{Client: w.Client, Path: w.Path, before: now, existed: exists, own: w.Own}
	switch {
	case !exists:
		c.State = Same
		return c, nil
	case digest(now) == w.Digest && !w.Existed:
		return c.deleted(), nil
	case w.Own && digest(now) != w.Digest:
		c.State, c.Why = Edited, "it was changed by hand"
		return c, nil
	}
	out, whole := w.cutOut(now)
	if !whole {
		c.State, c.Why = Edited, "its entries of githandoff were changed by hand"
		return c, nil
	}
	if !w.Existed && empty(out) {
		return c.deleted(), nil
	}
	c.after = out
	c.settle()
	return c, nil
}

// empty reports whether nothing is left in a file made by setup.
func empty(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) == 0 || bytes.Equal(b, []byte("{}"))
}

func (c *Change) deleted() *Change {
	c.State, c.Diff = Delete, unified(c.Path, c.before, "/dev/null", nil)
	return c
}

// Remove carries out the plan of PlanRemoval. Directories made by setup go with the last file in
// them.
func (r *Request) Remove(changes []*Change) error {
	if len(changes) == 0 {
		return nil
	}
	rec, unlock, err := lockedRecord(r)
	if err != nil {
		return err
	}
	defer unlock()
	var dirs []string
	var gone []*written
	for _, c := range changes {
		w := rec.find(c.Path)
		if w == nil || c.State == Edited {
			continue
		}
		if c.Client != w.Client {
			w.Client = c.Client
			continue
		}
		if err := remove(c); err != nil {
			return cannotWrite(err)
		}
		dirs = append(dirs, w.Dirs...)
		if c.State != Write {
			gone = append(gone, w) // still recorded: if this run ends here, the next one removes its directories
			continue
		}
		rec.forget(w) // otherwise the next run would look for its entries, and take them for changed by hand
		if err := r.save(rec); err != nil {
			return err
		}
	}
	// The innermost first: a longer path never holds a shorter one.
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) })
	removeEmpty(dirs)
	for _, w := range gone {
		rec.forget(w)
	}
	return r.save(rec)
}

func remove(c *Change) error {
	switch c.State {
	case Delete:
		return os.Remove(c.Path)
	case Write:
		info, err := os.Stat(c.Path)
		if err != nil {
			return err
		}
		return durable.WriteFile(c.Path, c.after, info.Mode().Perm())
	case Same, Edited, Foreign:
	}
	return nil
}
