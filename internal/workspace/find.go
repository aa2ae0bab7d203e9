package workspace

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/sign"
)

// Asking says when [Workspace.Find] asks hubs.
type Asking int

// From the fewest questions to the most.
const (
	Never     Asking = iota // ask no hub: only what this clone knows counts
	IfUnknown               // ask hubs about an id that is unknown in this clone
	IfUp                    // like IfUnknown, and fetch a known state again, unless its hub is down
	Always                  // like IfUp, but fail if the hub is down; the known state comes with the error
)

// Find finds a handoff by its id or the last characters of it, ended ones included; without either,
// the one that this worktree holds. An unknown id is refused with [fault.UnknownHandoff].
func (w *Workspace) Find(ctx context.Context, arg string, ask Asking) (*View, error) {
	if arg == "" {
		held, err := w.Work().Current()
		if err != nil {
			return nil, err
		}
		arg = string(held.ID)
	}
	if ask == Never {
		return w.known(ctx, arg)
	}
	v, fresh, err := w.seek(ctx, arg)
	if err != nil || fresh || ask == IfUnknown {
		return v, err
	}
	at := v.Place()
	err = w.refresh(ctx, v)
	if ask == Always {
		v.at = at
	}
	if ask == IfUp && fault.CodeOf(err) == fault.Unavailable {
		w.Warn(err)
		return v, nil
	}
	return v, err
}

// resolve turns what a person typed, an id or its last characters, into the
// item it means, among everything this repository knows of.
func (w *Workspace) resolve(ctx context.Context, arg string) (*Item, error) {
	if err := CheckArg(arg); err != nil {
		return nil, err
	}
	suffix := strings.TrimPrefix(strings.TrimPrefix(arg, "…"), "ho_")
	list, err := w.Repo.List(ctx,
		refs.Root+"inbox/*/ho_*"+suffix, refs.Root+"outbox/*/ho_*"+suffix, refs.Root+"sent/*/ho_*"+suffix,
		refs.Root+"remotes/*/inbox/*/ho_*"+suffix)
	if err != nil {
		return nil, err
	}
	var items []*Item
	for _, r := range list {
		it, err := w.withHome(ctx, r)
		if err != nil {
			return nil, err
		}
		if it == nil {
			continue
		}
		if len(items) > 0 && items[0].Place.ID != it.Place.ID {
			return nil, handoff.Ambiguous(arg, items[0].Place.ID, it.Place.ID)
		}
		items = append(items, it)
	}
	if len(items) == 0 {
		return nil, fault.New(fault.NotFound, fault.UnknownHandoff, "no handoff %s is known here", crossrepo.Quote(arg)).
			WithHints(fault.Run("githandoff", "sync").Because("fetches what hubs know about sent handoffs"),
				fault.Run("githandoff", "inbox", "--all").Because("lists the ids that are known"))
	}
	for _, it := range items {
		if err := w.Load(ctx, it); err != nil {
			return nil, err
		}
	}
	return slices.MinFunc(items, func(a, b *Item) int { return cmp.Compare(rank(a), rank(b)) }), nil
}

// rank orders the refs of one handoff: the one in the inbox of its home decides, then the sent one,
// then the one in the outbox. A copy in the inbox of another home is last.
func rank(it *Item) int {
	if it.IsCopy() {
		return 3
	}
	return slices.Index([]string{refs.KindInbox, refs.KindSent, refs.KindOutbox}, it.Kind)
}

// withHome returns the handoff named by a ref, with its home; nil if no alias leads there.
func (w *Workspace) withHome(ctx context.Context, r refs.Ref) (*Item, error) {
	home, namespace := lifecycle.Home(w.Local), refs.NamespaceOf(r.Name)
	if namespace != refs.LocalNamespace {
		home = nil
		for _, name := range w.Aliases.Names() {
			if a, err := w.Aliases.Get(ctx, name); err == nil && refs.TrackingNamespace(a.RepoID) == namespace {
				home = w.HubAt(a)
			}
		}
		if home == nil {
			return nil, nil
		}
	}
	it := itemOf(home, namespace, r)
	if it == nil || it.Kind == refs.KindInbox {
		return it, nil
	}
	if err := w.Load(ctx, it); err != nil || it.Record == nil {
		return nil, err
	}
	home, err := w.Home(ctx, it.Record.Home)
	if err != nil {
		return nil, err
	}
	it.Home = home
	return it, nil
}

// known resolves an id or its last characters among everything this repository knows: by a ref or,
// if no ref leads to the handoff, by its lane.
func (w *Workspace) known(ctx context.Context, arg string) (*View, error) {
	it, err := w.resolve(ctx, arg)
	switch {
	case err == nil:
		if it.IsCopy() {
			if v, err := atHome(ctx, w, it); v != nil || err != nil {
				return v, err
			}
		}
		return w.view(ctx, it)
	case fault.CodeOf(err) != fault.NotFound:
		return nil, err
	}
	found, lerr := inLanes(ctx, w, arg)
	if found == nil && lerr == nil {
		return nil, err
	}
	return found, lerr
}

// view reads the state of a handoff, and its lane, which a fetch of a hub's inbox does not bring. If
// the hub is down, the known state stays, with a warning, or with Unread if no entry of the handoff
// is known.
func (w *Workspace) view(ctx context.Context, it *Item) (*View, error) {
	s, err := w.Engine.Reader.Load(ctx, it.Home, it.Place)
	if err != nil {
		return nil, err
	}
	v := &View{Home: it.Home, State: s, Item: it}
	if !it.Behind(s) {
		return v, nil
	}
	switch down := it.Home.Refresh(ctx, lifecycle.WholeHandoffs(it.Place)); {
	case down == nil:
		v.State, err = w.Engine.Reader.Load(ctx, it.Home, it.Place)
	case fault.Is(s.Err(), fault.Unfinished):
		v.Unread = down
	default:
		w.Warn(down)
	}
	return v, err
}

// atHome returns a handoff, of which only a copy was found, as the log of its home has it. It
// returns nil if that home, or the handoff in its log, is unknown here.
func atHome(ctx context.Context, w *Workspace, it *Item) (*View, error) {
	home, _ := w.Home(ctx, it.Record.Home)
	if home == nil {
		return nil, nil
	}
	s, err := w.Engine.Reader.Load(ctx, home, lifecycle.Place{ID: it.Place.ID})
	if err != nil || len(s.Entries) == 0 {
		return nil, err
	}
	return &View{Home: home, State: s}, nil
}

// inLanes finds a handoff in the lanes of all homes; nil if it is in none. If several lanes have
// it, one with its receipt counts.
func inLanes(ctx context.Context, w *Workspace, arg string) (found *View, err error) {
	for _, home := range w.All(ctx) {
		id, err := w.inLane(ctx, home.Namespace(), arg)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		if found != nil && found.State.ID != id {
			return nil, handoff.Ambiguous(arg, found.State.ID, id)
		}
		state, err := w.Engine.Reader.Load(ctx, home, lifecycle.Place{ID: id})
		if err != nil {
			return nil, err
		}
		if found == nil || found.State.Receipt == nil {
			found = &View{Home: home, State: state}
		}
	}
	return found, nil
}

// inLane looks for an id in the lane named by its last two characters.
func (w *Workspace) inLane(ctx context.Context, namespace refs.Namespace, arg string) (handoff.ID, error) {
	tip, err := w.Repo.Resolve(ctx, namespace.Lane(handoff.ID(arg)))
	if err != nil || tip == "" {
		return "", err
	}
	ids, err := w.Engine.Reader.Lanes.IDs(ctx, tip, func(id handoff.ID) bool { return id.Matches(arg) })
	if err != nil || len(ids) == 0 {
		return "", err
	}
	if len(ids) > 1 {
		return "", handoff.Ambiguous(arg, ids...)
	}
	return ids[0], nil
}

// seek asks hubs for an id that is unknown, or of which only a copy is known: each hub that resume
// would ask is asked for the lane of the id. So a handoff that ended, or is held by another agent,
// differs from one that never existed. A hub that is down is the error if the others do not know
// the id either. fresh reports whether a hub was asked, so that the state is the present one.
func (w *Workspace) seek(ctx context.Context, arg string) (v *View, fresh bool, err error) {
	f, unknown := w.known(ctx, arg)
	if !f.isCopy() && !fault.Is(unknown, fault.UnknownHandoff) {
		return f, false, unknown
	}
	homes, down := w.Sources(ctx)
	for _, home := range homes {
		found, err := w.FetchLogged(ctx, home, arg)
		switch {
		case fault.CodeOf(err) == fault.Unavailable:
			down = err
		case err != nil:
			return nil, false, err
		case found != "":
			if v, err = w.known(ctx, arg); err != nil || !v.isCopy() {
				return v, true, err
			}
		}
	}
	switch {
	case f != nil:
		if down != nil { // the hub that is down may be the home
			w.Warn(down)
		}
		return f, false, nil
	case down != nil:
		return nil, false, down
	}
	e := fault.As(unknown)
	return nil, false, e.WithHints(append(w.HintOtherHubs(), e.Hints...)...)
}

// FetchLogged fetches the lane of an id, or of its last characters, and the handoff itself while it
// is open. It returns the whole id; "" if the lane has no such handoff.
func (w *Workspace) FetchLogged(ctx context.Context, home lifecycle.Home, arg string) (handoff.ID, error) {
	if err := home.Refresh(ctx, lifecycle.FetchSpec{Lanes: []handoff.ID{handoff.ID(arg)}, Once: true}); err != nil {
		return "", err
	}
	id, err := w.inLane(ctx, home.Namespace(), arg)
	if id == "" || err != nil {
		return "", err
	}
	s, err := w.Engine.Reader.Load(ctx, home, lifecycle.Place{ID: id})
	if err != nil || s.Receipt != nil || s.To == "" {
		return id, err
	}
	return id, home.Refresh(ctx, lifecycle.FetchSpec{Places: []lifecycle.Place{{Agent: s.To, ID: id}}})
}

// Place returns where a handoff stands, or stood last.
func (v *View) Place() lifecycle.Place {
	if v.at.ID != "" {
		return v.at
	}
	p := lifecycle.Place{ID: v.State.ID, Agent: v.State.To}
	if v.Item != nil {
		p.Agent = v.Item.Place.Agent
	}
	return p
}

// CheckArg refuses what can be no handoff's id, nor the end of one.
func CheckArg(arg string) error {
	err := handoff.CheckSuffix(arg)
	if err == nil {
		return nil
	}
	var hints []fault.Hint
	if id, ok := handoff.IDIn(arg); ok {
		hints = append(hints, fault.Instead(arg, string(id)))
	}
	return fault.New(fault.Usage, fault.InvalidID, "%w", err).
		WithHints(append(hints, fault.Run("githandoff", "inbox", "--all").Because("lists the ids"))...)
}

// refresh reads the state of a handoff again from its home.
func (w *Workspace) refresh(ctx context.Context, v *View) error {
	at := v.Place()
	if err := v.Home.Refresh(ctx, lifecycle.WholeHandoffs(at)); err != nil {
		return err
	}
	s, err := w.Engine.Reader.LoadOrFetch(ctx, v.Home, at)
	if err == nil {
		v.State = s
	}
	return err
}

// Parent returns the parent of a handoff, as its offer says.
func (v *View) Parent() handoff.ID {
	switch {
	case v.State.Offer != nil:
		return v.State.Offer.Parent
	case v.Item != nil && v.Item.Record != nil:
		return v.Item.Record.Parent
	}
	return ""
}

// IsOpen reports whether a handoff is under way and its content is there.
func IsOpen(s *lifecycle.State) bool { return s.Receipt == nil && len(s.Chain) > 0 }

// Content reads the envelope of an open, sent, queued or archived handoff; nil if it is gone.
func (w *Workspace) Content(ctx context.Context, f *View) (*handoff.Envelope, error) {
	if IsOpen(f.State) {
		v, err := w.Engine.Verifier.Verify(ctx, f.Home, f.State, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
		if err != nil {
			return nil, err
		}
		return v.Envelope(), nil
	}
	places := []string{refs.Archive(f.State.ID)}
	if f.Item != nil && f.Item.Kind != refs.KindInbox {
		places = append(places, f.Item.Ref)
	}
	for _, ref := range places {
		env, err := archived(ctx, w.Engine, ref, f.State)
		if env != nil || fault.CodeOf(err) != fault.NotFound {
			return env, err
		}
	}
	return nil, nil
}

// archived proves a payload without an inbox ref: it is signed by a key trusted now, and is the
// one named by the log, if any.
func archived(ctx context.Context, e *lifecycle.Engine, ref string, s *lifecycle.State) (*handoff.Envelope, error) {
	p, err := e.Verifier.Reload(ctx, ref)
	if err != nil {
		return nil, err
	}
	c, err := record.ParseCommit(p.Commit.Body)
	if err != nil {
		return nil, fault.New(fault.Denied, fault.MalformedObject, "%s: %w", ref, err)
	}
	key, err := e.Keys.SignerOf(ref, c)
	if err != nil {
		return nil, err
	}
	r := &p.Record
	switch {
	case r.ID != s.ID, p.Envelope.ID != s.ID, s.Payload != "" && s.Payload != p.Commit.OID:
		return nil, fault.New(fault.Denied, fault.HandoffMismatch, "%s does not hold the payload of %s", ref, s.ID)
	case s.Payload == "": // the log names no payload, so only the signature vouches for this one
		if err := key.MayAct(sign.RoleSender, r.From, r.At); err != nil && key.MayAct(sign.RoleRoot, "", r.At) != nil {
			return nil, err
		}
	}
	if p.Unread != nil {
		return nil, p.Unread
	}
	return p.Envelope, screen.Envelope(p.Envelope)
}
