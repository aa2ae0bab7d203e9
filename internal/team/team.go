package team

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/lifecycle"
	"githandoff/internal/notes"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// teamOf returns the ref of the team's list in a namespace: a commit on the one before
// it, whose tree holds the list and its signature.
func teamOf(s refs.Namespace) string { return string(s) + "trust" }

const maxTeamCommit = 1 << 20 // size of a commit or tree of lists, in bytes

// Published returns the copies of the keys and lists published at a hub.
func Published(hub *crossrepo.Hub) []string {
	return []string{keysOf(hub.Namespace()), teamOf(hub.Namespace())}
}

// Pinned returns the copies of the published keys that are pinned here: they come from every hub.
func (t *Team) Pinned(hub *crossrepo.Hub) (copies []string) {
	for _, key := range sign.KeysOf(t.Engine.Keys.Trust) {
		copies = append(copies, keysOf(hub.Namespace())+sign.Hex(key.KID()))
	}
	return copies
}

// Sync adopts a team's lists. The published refs were fetched already; take judges the lanes
// fetched with them. It returns the serial of the newest adopted list; 0 if nothing is new. A
// list seen by this clone counts even while the hub lacks it. A bad list does not affect the
// others, and one by a signer who is no root here does not count: it is an error if it has taken the place of
// those that this clone follows.
func (t *Team) Sync(ctx context.Context, hub *crossrepo.Hub, take func() error) (adopted int64, err error) {
	var before lifecycle.Tips // tips of the lanes before take moves them
	if t.Engine.Keys.Trust.HasTeams() {
		if before, err = lifecycle.LaneTips(ctx, t.Engine.Repo); err != nil {
			return 0, err
		}
	}
	if err := take(); err != nil {
		return 0, err
	}
	lists, first := t.learn(ctx, hub)
	if fault.Is(first, fault.MissingObject) {
		if first = crossrepo.MendPublished(ctx, hub); first == nil {
			lists, first = t.learn(ctx, hub)
		}
	}
	var strange error // last list, if it is of another team at this hub, or of one whose root is still to be pinned here
	replaced := sign.HasTeamAt(t.Engine.Keys.Trust, hub.Is, t.Engine.Now())
	for _, l := range lists {
		team, err := t.opened(hub, l)
		fresh := false
		if err == nil {
			replaced = false
			fresh, err = t.Engine.Keys.Trust.Adopt(team)
		}
		if fresh && err == nil {
			err = t.Witness(ctx, before)
		}
		if fresh {
			adopted = max(adopted, team.Serial)
		}
		switch {
		case err == nil:
		case !stranger(err):
			first = cmp.Or(first, err)
		case l.name == sign.LastTeamFile:
			strange = errStranger(hub, err)
		}
	}
	if strange != nil && replaced {
		first = cmp.Or(first, strange)
	} else if strange != nil {
		t.Workspace.Warn(strange)
	}
	return adopted, first
}

// learn takes over the published keys of a hub, and reads its lists, also where a key is lost here.
func (t *Team) learn(ctx context.Context, hub *crossrepo.Hub) ([]list, error) {
	lost := t.learnKeys(ctx, hub)
	lists, err := t.lists(ctx, hub)
	return lists, cmp.Or(err, lost)
}

// list is the list of one root at a hub.
type list struct {
	name     string // name of the list's file
	raw, sig []byte
}

// maxLists bounds the roots with lists at one hub.
const maxLists = 32

// lists reads the copies of a hub's lists, unverified, the last signer's first; none if nothing
// is published.
func (t *Team) lists(ctx context.Context, hub *crossrepo.Hub) ([]list, error) {
	ref := teamOf(hub.Namespace())
	if oid, err := t.Engine.Repo.Resolve(ctx, ref); err != nil || oid == "" {
		return nil, err
	}
	tree, err := t.Engine.Repo.Read(ctx, ref+"^{tree}", maxTeamCommit)
	if err != nil {
		return nil, err
	}
	none := fault.New(fault.Denied, fault.MalformedObject, "%s of %s holds no list of keys with a signature", hub.RemoteName(ref), hub.Alias.Name)
	if tree == nil {
		return nil, none
	}
	entries, err := t.Engine.Repo.Format.ParseTree(tree.Body)
	if err != nil {
		return nil, none
	}
	var lists []list
	for _, e := range entries {
		if !sign.IsTeamFile(e.Name) || e.Mode == gitobj.Gitlink {
			continue
		}
		raw, err := refs.ReadNamed(ctx, t.Engine.Repo, e.OID, sign.MaxTeam, "a list of the keys at "+hub.Alias.Name)
		if err != nil {
			return nil, err
		}
		sig, err := t.Engine.Repo.Read(ctx, ref+":"+e.Name+sign.TeamSigSuffix, sign.MaxTeamSig)
		if err != nil {
			return nil, err
		}
		if sig == nil || raw.Type != "blob" || sig.Type != "blob" || len(lists) == maxLists {
			return nil, none
		}
		lists = append(lists, list{e.Name, raw.Body, sig.Body})
	}
	i := slices.IndexFunc(lists, func(l list) bool { return l.name == sign.LastTeamFile })
	if i < 0 {
		return nil, none
	}
	lists[0], lists[i] = lists[i], lists[0]
	return lists, nil
}

// opened verifies a list, which must be by the signer in its file name.
func (t *Team) opened(hub *crossrepo.Hub, l list) (*sign.Team, error) {
	team, err := t.Engine.Keys.Trust.OpenTeam(l.raw, l.sig, t.Engine.Now())
	switch {
	case err != nil:
		return nil, err
	case !hub.Is(team.Home):
		return nil, fault.New(fault.Denied, fault.AudienceMismatch, "the list of keys at %s is for %s", hub.ID(), team.Home)
	case l.name != sign.LastTeamFile && l.name != sign.TeamFile(team.Signer):
		return nil, fault.New(fault.Denied, fault.MalformedObject, "the list of keys %s at %s is by %s", l.name, hub.ID(), team.Signer)
	}
	return team, nil
}

// stranger reports whether the signer of a list is no root here. It may be one for others.
func stranger(err error) bool {
	return fault.Is(err, fault.UntrustedKey) || fault.Is(err, fault.UntrustedRoot)
}

// errStranger is about the last list at a hub, if its signer is no root here.
func errStranger(hub *crossrepo.Hub, err error) *fault.Error {
	return fault.New(fault.Denied, fault.UntrustedRoot, "%s has a list of keys by a signer who is not a root here: %w", hub.Alias.Name, err)
}

// Publish signs the pinned keys as the next list of its signer at a hub. The lists of other roots
// stay beside it as they signed them: no root vouches for the entries of another. Nil: the hub is
// up to date.
func (t *Team) Publish(ctx context.Context, hub *crossrepo.Hub) (team *sign.Team, err error) {
	trust := t.Engine.Keys.Trust
	signer, ok := trust.Lookup(t.Engine.Author.Signer.KID())
	if !ok || signer.List() != "" || signer.MayAct(sign.RoleRoot, "", t.Engine.Now()) != nil {
		return nil, fault.New(fault.Denied, fault.UntrustedRoot, "%s is not trusted here as a root, and only a root key signs the list of a team", t.Engine.Author.Signer.KID()).
			WithHints(fault.Fact("ask a person whose root key is trusted here to publish it"))
	}
	ref := teamOf(hub.Namespace())
	kept, err := t.Engine.Repo.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer func() {
		if team == nil && kept != "" { // if the hub lost its lists, those seen here still count here
			_ = refs.ApplyUnlessMoved(context.WithoutCancel(ctx), t.Engine.Repo, []refs.Edit{{Ref: ref, New: kept}})
		}
	}()
	known, _ := t.lists(ctx, hub) // unreadable ones are not given back
	for try := 0; ; try++ {
		if err := hub.FetchPresent(ctx, ref); err != nil {
			return nil, err
		}
		team, others, err := t.nextTeam(ctx, hub, known)
		if err != nil || team == nil {
			return nil, err
		}
		if err = t.pushTeam(ctx, hub, team, others); err == nil {
			_, err = trust.Adopt(team)
			return team, err
		}
		if try == publishTries {
			return nil, err
		}
	}
}

// nextTeam returns the list to follow the signer's last one, and the remaining lists of others.
// Invalid lists are dropped. The last list of an unpinned signer is dropped only when a person
// asks for it: others may need it. A hub without any list gets back those of other roots that are known
// here.
func (t *Team) nextTeam(ctx context.Context, hub *crossrepo.Hub, known []list) (*sign.Team, []list, error) {
	lists, err := t.lists(ctx, hub)
	if fault.Is(err, fault.MalformedObject) {
		t.Workspace.Warn(err)
	} else if err != nil {
		return nil, nil, err
	}
	self := t.Engine.Author.Signer.KID()
	mine, err := t.Engine.Keys.Trust.Team(hub.ID(), self)
	if err != nil {
		return nil, nil, err
	}
	serial, there := int64(0), false
	if mine != nil {
		serial = mine.Serial
	}
	if lists == nil {
		lists = slices.DeleteFunc(slices.Clone(known), func(l list) bool {
			team, err := t.opened(hub, l)
			return err != nil || team.Signer == self
		})
	}
	var others []list
	for _, l := range lists {
		team, err := t.opened(hub, l)
		switch {
		case err == nil && team.Signer == self:
			if there = mine == nil || team.Serial >= mine.Serial; there {
				mine = team
			}
		case err == nil:
			others = append(others, list{sign.TeamFile(team.Signer), l.raw, l.sig})
		case l.name == sign.LastTeamFile && stranger(err):
			return nil, nil, errStranger(hub, err).WithHints(fault.Hint{Why: "ask whoever keeps the hub whose list it is; pin that key as a root, or have the list removed"})
		case stranger(err):
			others = append(others, l)
		case fault.As(err) == nil:
			return nil, nil, err
		default:
			t.Workspace.Warn(err)
		}
		if team != nil && (team.Signer == self || team.Serial < sign.FarSerial) {
			serial = max(serial, team.Serial)
		}
	}
	keys, err := t.listed(ctx, hub, mine)
	if err != nil || there && mine.Own() && reflect.DeepEqual(mine.Keys, keys) {
		return nil, nil, err
	}
	return sign.NewTeam(hub.ID(), serial, t.Engine.Now(), self, keys), others, nil
}

// listed returns the keys the signer vouches for: the pinned ones, and the rest of its last list. A
// list of the older form is not continued, for it may hold entries of another root.
func (t *Team) listed(ctx context.Context, hub *crossrepo.Hub, mine *sign.Team) ([]sign.TrustEntry, error) {
	var before []sign.TrustEntry
	if mine != nil && mine.Own() {
		before = mine.Keys
	}
	keys, err := mergeTeam(before, t.Engine.Keys.Trust.Pinned())
	if err != nil {
		return nil, err
	}
	return keys, t.seenAt(ctx, hub, before, keys)
}

// mergeTeam puts what is pinned here over the entries of a list. Who was retired
// stays so.
func mergeTeam(listed []sign.TrustEntry, pinned []sign.Key) ([]sign.TrustEntry, error) {
	byKID := map[sign.KID]sign.TrustEntry{}
	for _, e := range listed {
		byKID[e.KID] = e
	}
	for _, k := range pinned {
		e := k.Entry()
		e.Comment = ""
		if e.MaxScope = withinAll(k.Limits()); len(e.MaxScope) == 0 && len(k.Limits()) > 0 {
			return nil, fault.New(fault.Policy, fault.OutOfScope, "key %s is limited by two lists of trust that have nothing in common", e.KID).
				WithHints(fault.Run("githandoff", "trust", "list").Because("shows both limits"),
					fault.Run("githandoff", "trust", "remove", e.KID).Because("retires that key"))
		}
		e.Retired = sign.Earlier(e.Retired, byKID[e.KID].Retired)
		byKID[e.KID] = e
	}
	return slices.SortedFunc(maps.Values(byKID), func(a, b sign.TrustEntry) int { return cmp.Compare(a.KID, b.KID) }), nil
}

// withinAll returns the scopes allowed by all of some lists.
func withinAll(limits [][]string) []string {
	if len(limits) == 0 {
		return nil
	}
	all := limits[0]
	for _, next := range limits[1:] {
		within := func(s string, list []string) bool { return obo.CoversAll(list, []string{s}) }
		both := slices.DeleteFunc(slices.Concat(all, next), func(s string) bool { return !within(s, all) || !within(s, next) })
		slices.Sort(both)
		all = slices.Compact(both)
	}
	return all
}

// pushTeam puts a list on top of the hub's tip.
func (t *Team) pushTeam(ctx context.Context, hub *crossrepo.Hub, team *sign.Team, others []list) error {
	raw, err := team.Encode()
	if err != nil {
		return err
	}
	sig, err := t.Engine.Author.Signer.Sign(ctx, sign.NamespaceTrust, raw)
	if err != nil {
		return err
	}
	ref := teamOf(hub.Namespace())
	old, err := t.Engine.Repo.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	var parents []string
	if o, err := t.Engine.Repo.Read(ctx, ref, maxTeamCommit); err != nil {
		return err
	} else if o != nil && o.Type == "commit" {
		parents = []string{o.OID}
	}
	var objects []*refs.Object
	var files []gitobj.TreeEntry
	for _, l := range append(others, list{sign.LastTeamFile, raw, sig}) {
		list, seal := refs.NewObject(t.Engine.Repo.Format, "blob", l.raw), refs.NewObject(t.Engine.Repo.Format, "blob", l.sig)
		objects = append(objects, list, seal)
		files = append(files, gitobj.TreeEntry{Mode: gitobj.File, Name: l.name, OID: list.OID},
			gitobj.TreeEntry{Mode: gitobj.File, Name: l.name + sign.TeamSigSuffix, OID: seal.OID})
	}
	keys := slices.Clone(team.Keys)
	for _, l := range others {
		if other, err := sign.ParseTeam(l.raw); err == nil {
			keys = append(keys, other.Keys...)
		}
	}
	seen, err := t.seenTrees(ctx, keys)
	if err != nil {
		return err
	}
	raw, err = gitobj.EncodeTree(append(files, seen...))
	if err != nil {
		return err
	}
	tree := refs.NewObject(t.Engine.Repo.Format, "tree", raw)
	body, err := notes.Commit(tree.OID, parents, t.Engine.Author.Actor+" <"+sign.Mail(t.Engine.Author.Actor)+">", t.Engine.Now().UTC(),
		fmt.Sprintf("trusted keys, list %d", team.Serial))
	if err != nil {
		return err
	}
	commit := refs.NewObject(t.Engine.Repo.Format, "commit", body)
	objects = append(objects, tree, commit)
	if err := t.Engine.Repo.Store.Write(objects...); err != nil {
		return err
	}
	return hub.Publish(ctx, refs.Edit{Ref: ref, Old: old, New: commit.OID}, objects...)
}
