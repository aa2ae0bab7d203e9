package crossrepo

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/notes"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// teamOf is the ref of the team's list in a space: a commit on the one before
// it, whose tree holds the list and its signature.
func teamOf(s refs.Space) string { return string(s) + "trust" }

const (
	teamFile    = "trust.json"
	teamSigFile = "trust.json.sig"

	maxTeamSig = 16 << 10 // bytes
)

// teamHubs are the hubs whose lists of keys this clone may adopt: those that it
// takes work from, or that were named.
func (d *Desk) teamHubs(ctx context.Context, only []*Hub) []*Hub {
	if only != nil {
		return only
	}
	var hubs []*Hub
	for _, alias := range d.pulled() {
		if hub, err := d.Hub(ctx, alias); err == nil {
			hubs = append(hubs, hub)
		}
	}
	return hubs
}

// syncTeam fetches what is published at a hub, and lets the keys count that the
// team's list names. Nil: there is none, or nothing new in it. A list that this
// clone has seen counts also while the hub lacks it.
func (d *Desk) syncTeam(ctx context.Context, hub *Hub) (*Done, error) {
	if err := hub.fetchPublished(ctx, keysOf(hub.Space()), teamOf(hub.Space())); err != nil {
		return nil, err
	}
	team, err := d.team(ctx, hub)
	if err != nil || team == nil {
		return nil, err
	}
	if fresh, err := d.Engine.Trust.Adopt(team); err != nil || !fresh {
		return nil, err
	}
	return &Done{What: "adopted", Alias: hub.Alias.Name, Serial: team.Serial}, nil
}

// team reads and verifies the copy of a hub's list; nil where there is none.
func (d *Desk) team(ctx context.Context, hub *Hub) (*sign.Team, error) {
	ref := teamOf(hub.Space())
	if oid, err := d.Repo.Resolve(ctx, ref); err != nil || oid == "" {
		return nil, err
	}
	raw, err := d.Repo.Read(ctx, ref+":"+teamFile, sign.MaxTeam)
	if err != nil {
		return nil, err
	}
	sig, err := d.Repo.Read(ctx, ref+":"+teamSigFile, maxTeamSig)
	if err != nil {
		return nil, err
	}
	if raw == nil || sig == nil || raw.Type != "blob" || sig.Type != "blob" {
		return nil, fault.New(fault.Denied, "malformed_object", "%s of %s holds no list of keys with a signature", hub.there(ref), hub.Alias.Name)
	}
	team, err := d.Engine.Trust.OpenTeam(raw.Body, sig.Body, d.Engine.Now())
	if err != nil {
		return nil, err
	}
	if !hub.Answers(team.Home) {
		return nil, fault.New(fault.Denied, "audience_mismatch", "the list of keys at %s is for %s", hub.ID(), team.Home)
	}
	return team, nil
}

// PublishTeam signs what is pinned here, and what the list of a hub has besides,
// as the next list of that hub. Nil: it says all of that already.
func (d *Desk) PublishTeam(ctx context.Context, hub *Hub) (*sign.Team, error) {
	trust := d.Engine.Trust
	signer, ok := trust.Lookup(d.Engine.Signer.KID())
	if !ok || signer.List() != "" || signer.MayAct(sign.RoleRoot, "", d.Engine.Now()) != nil {
		return nil, fault.New(fault.Denied, "untrusted_root", "%s is not trusted here as a root, and only a root key signs the list of a team", d.Engine.Signer.KID()).
			WithHint("githandoff init --person MAIL, in a worktree of that person")
	}
	for try := 0; ; try++ {
		if err := hub.fetchPublished(ctx, teamOf(hub.Space())); err != nil {
			return nil, err
		}
		team, err := d.nextTeam(ctx, hub)
		if err != nil || team == nil {
			return nil, err
		}
		if err = d.pushTeam(ctx, hub, team); err == nil {
			_, err = trust.Adopt(team)
			return team, err
		}
		if try == publishTries {
			return nil, err
		}
	}
}

// nextTeam is the list that follows on what is there. What is there and is no
// good list is replaced, and does not go into it; that of somebody who is not
// pinned here may be good for others.
func (d *Desk) nextTeam(ctx context.Context, hub *Hub) (*sign.Team, error) {
	before, err := d.team(ctx, hub)
	switch {
	case err == nil:
	case fault.Is(err, "untrusted_key"), fault.Is(err, "untrusted_root"):
		return nil, fault.New(fault.Denied, "untrusted_root", "%s has a list of keys by somebody who is no root here: %w", hub.Alias.Name, err).
			WithHint("pin that key as a root; or, if it has no business there: git push %s :refs/handoffs/trust", fault.Arg(hub.Alias.Name))
	case fault.As(err) == nil:
		return nil, err
	default:
		d.Warn(err)
	}
	last, err := d.Engine.Trust.Team(hub.ID())
	if err != nil {
		return nil, err
	}
	lost := last != nil && (before == nil || before.Serial < last.Serial)
	switch {
	case lost:
		before = last
	case before == nil:
		before = &sign.Team{}
	}
	keys, err := mergeTeam(before.Keys, d.Engine.Trust.Pinned())
	if err != nil || !lost && slices.EqualFunc(before.Keys, keys, sameEntry) {
		return nil, err
	}
	return sign.NewTeam(hub.ID(), before.Serial, d.Engine.Now(), d.Engine.Signer.KID(), keys), nil
}

func sameEntry(a, b sign.Entry) bool { return reflect.DeepEqual(a, b) }

// mergeTeam puts what is pinned here over the entries of a list. Who was retired
// stays so.
func mergeTeam(listed []sign.Entry, pinned []sign.Key) ([]sign.Entry, error) {
	byKID := map[sign.KID]sign.Entry{}
	for _, e := range listed {
		byKID[e.KID] = e
	}
	for _, k := range pinned {
		e := k.Entry()
		e.Comment = ""
		if e.MaxScope = withinAll(k.Limits()); len(e.MaxScope) == 0 && len(k.Limits()) > 0 {
			return nil, fault.New(fault.Policy, "scope", "key %s is limited by two lists of trust that have nothing in common", e.KID).
				WithHint("githandoff trust list; githandoff trust remove %s", e.KID)
		}
		if old := byKID[e.KID].Retired; old != "" && (e.Retired == "" || before(old, e.Retired)) {
			e.Retired = old
		}
		byKID[e.KID] = e
	}
	return slices.SortedFunc(maps.Values(byKID), func(a, b sign.Entry) int { return cmp.Compare(a.KID, b.KID) }), nil
}

// before compares two times of a trust file, which were checked when it was read.
func before(a, b string) bool {
	ta, _ := time.Parse(time.RFC3339, a)
	tb, _ := time.Parse(time.RFC3339, b)
	return ta.Before(tb)
}

// withinAll are the scopes that all of some lists allow.
func withinAll(limits [][]string) []string {
	if len(limits) == 0 {
		return nil
	}
	all := limits[0]
	for _, next := range limits[1:] {
		within := func(s string, list []string) bool { return obo.CoversAll(list, []string{s}) }
		var both []string
		for _, s := range all {
			if within(s, next) {
				both = append(both, s)
			}
		}
		for _, s := range next {
			if within(s, all) {
				both = append(both, s)
			}
		}
		slices.Sort(both)
		all = slices.Compact(both)
	}
	return all
}

// pushTeam puts a list on top of what the hub has.
func (d *Desk) pushTeam(ctx context.Context, hub *Hub, team *sign.Team) error {
	raw, err := team.Encode()
	if err != nil {
		return err
	}
	sig, err := d.Engine.Signer.Sign(ctx, sign.NamespaceTrust, raw)
	if err != nil {
		return err
	}
	ref := teamOf(hub.Space())
	old, err := d.Repo.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	var parents []string
	if o, err := d.Repo.Read(ctx, ref, maxCodeCommit); err != nil {
		return err
	} else if o != nil && o.Type == "commit" {
		parents = []string{o.OID}
	}
	list, seal := refs.NewObject("blob", raw), refs.NewObject("blob", sig)
	tree, err := encodeTree(treeEntry{teamFile, list.OID}, treeEntry{teamSigFile, seal.OID})
	if err != nil {
		return err
	}
	body, err := notes.Commit(tree.OID, parents, d.Engine.Actor+" <"+d.Engine.Email+">", d.Engine.Now().UTC(),
		fmt.Sprintf("trusted keys, list %d", team.Serial))
	if err != nil {
		return err
	}
	commit := refs.NewObject("commit", body)
	if err := d.Repo.Write(list, seal, tree, commit); err != nil {
		return err
	}
	return hub.publish(ctx, refs.Edit{Ref: ref, Old: old, New: commit.OID})
}

type treeEntry struct{ name, oid string }

// encodeTree makes a tree of regular files, which are given in git's order.
func encodeTree(entries ...treeEntry) (*refs.Object, error) {
	var body []byte
	for _, e := range entries {
		oid, err := hex.DecodeString(e.oid)
		if err != nil {
			return nil, fmt.Errorf("encode a tree: %w", err)
		}
		body = append(append(body, "100644 "+e.name+"\x00"...), oid...)
	}
	return refs.NewObject("tree", body), nil
}
