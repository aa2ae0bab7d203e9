package audited

import (
	"context"
	"maps"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Visitor receives the lanes of a home, one after the other.
type Visitor struct {
	Entry func(lane refs.Ref, e *lifecycle.Entry) error
	State func(lane refs.Ref, s *lifecycle.State) error
	// Refused receives a lane that cannot be believed.
	Refused func(lane refs.Ref, err error) error

	// Inbox returns the inbox ref of a handoff that was offered to an agent, and View a digest of the
	// inbox refs of a lane. Both are nil if the log alone is judged.
	Inbox func(id handoff.ID, to string) string
	View  func(lane refs.Ref) string
	// Done is called after a lane, and reports whether its inbox refs are fine. It may be nil.
	Done func(lane refs.Ref) (fine bool, err error)
	// Clean is called after all lanes. If nothing at all was wrong with the home, it returns a
	// digest of the listed refs, else "". It may be nil.
	Clean func() string
}

// view returns the digest of the inbox refs of a lane, in one word.
func (v Visitor) view(lane refs.Ref) string {
	if v.View == nil {
		return unseen
	}
	return seen + v.View(lane)
}

func (v Visitor) done(lane refs.Ref) (fine bool, err error) {
	if v.Done == nil {
		return true, nil
	}
	return v.Done(lane)
}

// ReadAhead begins to read the entries of lanes remembered as sound, before the lanes are
// listed: those moved or gone are passed over later. Close ends it.
func (m *Memory) ReadAhead(ctx context.Context) {
	if m.reading == nil {
		m.reading = m.read(ctx)
	}
}

// Close ends the reading ahead.
func (m *Memory) Close() {
	if m.reading != nil {
		m.reading.line.Close()
	}
}

// Lanes shows lanes, in the order of their names. Lanes remembered as sound are not judged
// again. At the end Lanes writes its findings to the file.
func (m *Memory) Lanes(ctx context.Context, lanes []refs.Ref, v Visitor) error {
	m.ReadAhead(ctx)
	defer m.Close()
	for _, lane := range lanes {
		if err := m.show(ctx, lane, v); err != nil {
			return err
		}
	}
	clean := ""
	if v.Clean != nil && !slices.ContainsFunc(lanes, func(lane refs.Ref) bool { return !m.next[lane.Name].clean() }) {
		clean = v.Clean()
	}
	m.save(clean)
	return nil
}

func (m *Memory) show(ctx context.Context, lane refs.Ref, v Visitor) error {
	var lesson *lifecycle.Lesson
	a := lifecycle.LaneAudit{
		Entry: func(e *lifecycle.Entry) error { return v.Entry(lane, e) },
		State: func(s *lifecycle.State) error { return v.State(lane, s) },
		Inbox: v.Inbox, Signed: m.signed(lane.Name),
		Learn: func(l lifecycle.Lesson) { lesson = &l },
	}
	known := m.usable(lane, v)
	var err error
	if known != nil {
		err = lifecycle.Sound(ctx, lane, known.entries, m.reading.next, a)
	} else {
		err = m.audit(ctx, m.home, lane, a)
	}
	refused := fault.CodeOf(err) == fault.Denied || fault.Is(err, fault.MissingObject)
	if refused {
		err = v.Refused(lane, err)
	}
	if err != nil {
		return err
	}
	fine, err := v.done(lane)
	switch {
	case err != nil || refused:
	case known != nil:
		m.next[lane.Name] = known
	default:
		lesson.Sound = lesson.Sound && fine
		m.learn(lane, v.view(lane), *lesson)
	}
	return err
}

// reading reads the entries of sound lanes, ahead where there are many.
type reading struct {
	repo  *refs.Repo
	lanes []string          // sound lanes whose entries are yet to be read, in order
	known map[string]*known // sound lanes, by name
	line  *refs.Stream      // reads the entries ahead; nil if they are few, or it could not start
}

func (m *Memory) read(ctx context.Context) *reading {
	r := &reading{repo: m.repo, known: map[string]*known{}}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(m.lanes)) {
		if l := m.lanes[name]; m.sound(refs.Ref{Name: name, OID: l.tip}) != nil {
			r.lanes, r.known[name] = append(r.lanes, name), l
			n += len(l.entries)
		}
	}
	if n < refs.ManyAsked {
		return r
	}
	lanes := r.lanes
	r.line, _ = refs.ReadAhead(ctx, m.repo, "commit", func(yield func(string) bool) {
		for _, name := range lanes {
			for _, e := range r.known[name].entries {
				if !yield(e.OID) {
					return
				}
			}
		}
	}, record.MaxCommit)
	if r.line != nil {
		r.line.Reuse() // a parsed record keeps nothing of these bytes
	}
	return r
}

// usable returns the memory of a lane if it is enough for this visitor; nil if the lane must be
// judged. Either way the entries of the lanes before it are left out of the reading.
func (m *Memory) usable(lane refs.Ref, v Visitor) *known {
	r := m.reading
	for len(r.lanes) > 0 && r.lanes[0] < lane.Name {
		r.skip()
	}
	l := m.sound(lane)
	if l == nil || len(r.lanes) == 0 || r.lanes[0] != lane.Name {
		return nil
	}
	if v.View != nil && !m.unchanged && l.view != v.view(lane) {
		r.skip()
		return nil
	}
	r.lanes = r.lanes[1:]
	return l
}

// skip leaves the next lane out of the reading.
func (r *reading) skip() {
	for _, e := range r.known[r.lanes[0]].entries {
		r.line.Take(e.OID)
	}
	r.lanes = r.lanes[1:]
}

// next returns the next commit.
func (r *reading) next(ctx context.Context, oid string) (*refs.Object, error) {
	if o := r.line.Take(oid); o != nil {
		return o, nil
	}
	return r.repo.Read(ctx, oid, record.MaxCommit)
}
