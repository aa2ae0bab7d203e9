package guard

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Apart from the refs of handoffs, refs/handoffs has only refs of published keys, of invitations,
// and of a team's list of keys.
const (
	keysPrefix = refs.Root + "keys/"
	teamRef    = refs.Root + "trust"

	maxTeamFiles = 64   // a list and a signature for each root
	maxTips      = 1024 // trees of tips beside the lists, one for each retired key
)

// isPublishedRef reports whether a ref holds a published key, an invitation, or a team's list.
func isPublishedRef(name string) bool {
	digits, ok := strings.CutPrefix(name, keysPrefix)
	if ok {
		_, ok = sign.FromHex(digits)
	}
	return ok || name == teamRef || invitation(name)
}

// publishedJudge judges keys, lists of keys and invitations, which travel beside handoffs.
type publishedJudge struct{ *Guard }

// carriers reports whether refs are branches here: then a file comes in a commit.
func (pj publishedJudge) carriers() bool { return pj.names.prefix != "" }

// check requires a published key to be the one named in its ref, and a team's list to be newer
// than the one here and signed by a root key of the hub's own trust.
func (pj publishedJudge) check(ctx context.Context, e refs.Edit) error {
	if refs.LocalNamespace.IsProbe(e.Ref) {
		return pj.carries(ctx, e, handoff.MaxEnvelope)
	}
	if e.New == "" && !invitation(e.Ref) {
		return denied(fault.Rollback, "a published ref is never deleted")
	}
	if e.Ref == teamRef {
		return pj.team(ctx, e)
	}
	if err := pj.carrier(ctx, e); err != nil {
		return err
	}
	if invitation(e.Ref) {
		return pj.invited(ctx, e)
	}
	kid, _ := sign.FromHex(strings.TrimPrefix(e.Ref, keysPrefix))
	text, err := pj.file(ctx, e.New, sign.MaxKey)
	if err != nil {
		return err
	}
	public, err := sign.ParsePublic(text)
	switch {
	case err != nil:
		return denied(fault.MalformedObject, "no key: %w", err)
	case public.KID() != kid:
		return denied(fault.UntrustedKey, "it holds another key, %s", public.KID())
	}
	return pj.fuller(ctx, e.Old, public)
}

// fuller requires that a new copy of a key has everything that the copy at this hub has, above all
// a revocation.
func (pj publishedJudge) fuller(ctx context.Context, before string, public sign.PublicKey) error {
	if before == "" {
		return nil
	}
	text, err := pj.file(ctx, before, sign.MaxKey)
	if fault.CodeOf(err) == fault.Denied {
		return nil // an object that is not a file, or is too large for a key, has nothing to keep
	}
	if err != nil {
		return err
	}
	old, err := sign.ParsePublic(text)
	if err != nil || old.KID() != public.KID() {
		return nil //nolint:nilerr // a blob that is not a copy of the key has nothing to keep
	}
	if whole, err := public.With(old); err != nil || whole.Text() != public.Text() {
		return denied(fault.Rollback, "it lacks packets that the copy of the key here has").
			WithHints(fault.Run("githandoff", "key", "export", "--help").Because("--to publishes a key together with what is there"))
	}
	return nil
}

// team requires each list to be by a root key of the hub's own trust, or to be here already. No
// serial may go back, and no list may be dropped while it verifies.
func (pj publishedJudge) team(ctx context.Context, e refs.Edit) error {
	if err := pj.alone(ctx, e); err != nil {
		return err
	}
	old, err := pj.lists(ctx, e.Old)
	if err != nil {
		old = nil // a malformed old list does not block a new one
		if err := pj.readable(ctx, e.Old); err != nil {
			return err
		}
	}
	next, err := pj.lists(ctx, e.New)
	if err != nil {
		return err
	}
	serials := map[sign.KID]int64{}
	for name, files := range next {
		team, err := pj.Verifier.Keys.Trust.OpenTeam(files[0], files[1], pj.Verifier.Keys.Now())
		switch {
		case err != nil && name != sign.LastTeamFile && carried(files, old):
			continue
		case err != nil:
			return err
		case !pj.Home.Is(team.Home):
			return denied(fault.AudienceMismatch, "the list of keys is for %s", team.Home)
		case name != sign.LastTeamFile && name != sign.TeamFile(team.Signer), serials[team.Signer] != 0:
			return denied(fault.MalformedObject, "the list of keys %s is by %s", name, team.Signer)
		}
		serials[team.Signer] = team.Serial
	}
	last, _ := sign.ParseTeam(next[sign.LastTeamFile][0])
	for _, files := range old {
		before, err := pj.Verifier.Keys.Trust.OpenTeam(files[0], files[1], pj.Verifier.Keys.Now())
		if err != nil || !pj.Home.Is(before.Home) {
			continue // the signer is not trusted any more, it is no list, or it is for another hub
		}
		serial := serials[before.Signer]
		counted := before.Signer == last.Signer || before.Serial < sign.FarSerial
		if serial < before.Serial || serial == before.Serial && !carried(files, next) || counted && last.Serial <= before.Serial {
			return denied(fault.Rollback, "list %d of keys by %s does not follow list %d", serial, before.Signer, before.Serial)
		}
	}
	return nil
}

// carried reports whether a list is among others, byte for byte.
func carried(files [2][]byte, among map[string][2][]byte) bool {
	for _, other := range among {
		if bytes.Equal(other[0], files[0]) {
			return true
		}
	}
	return false
}

// lists returns the lists of keys in a commit, by the names of their files, each with its
// signature.
func (pj publishedJudge) lists(ctx context.Context, commit string) (map[string][2][]byte, error) {
	if commit == "" {
		return nil, nil
	}
	o, err := pj.Verifier.Repo.Read(ctx, commit+"^{tree}", maxCode)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, denied(fault.MalformedObject, "%s is not a commit", commit)
	}
	entries, err := pj.Verifier.Repo.Format.ParseTree(o.Body)
	if err != nil || len(entries) > maxTeamFiles+maxTips {
		return nil, denied(fault.MalformedObject, "%s holds no lists of keys", commit)
	}
	lists := map[string][2][]byte{}
	var seen []string // ids of the trees of tips
	for _, entry := range entries {
		if len(lists) > maxTeamFiles/2 {
			return nil, denied(fault.MalformedObject, "%s holds too many lists of keys", commit)
		}
		if entry.Mode == gitobj.Dir && entry.Name == sign.SeenPrefix+entry.OID {
			seen = append(seen, entry.OID)
			continue
		}
		if !sign.IsTeamFile(strings.TrimSuffix(entry.Name, sign.TeamSigSuffix)) || entry.Mode != gitobj.File {
			return nil, denied(fault.MalformedObject, "%q is not a list of keys", entry.Name)
		}
		if strings.HasSuffix(entry.Name, sign.TeamSigSuffix) {
			continue
		}
		raw, err := pj.part(ctx, entry.OID, sign.MaxTeam)
		if err != nil {
			return nil, err
		}
		sig, err := pj.part(ctx, commit+":"+entry.Name+sign.TeamSigSuffix, sign.MaxTeamSig)
		if err != nil {
			return nil, err
		}
		lists[entry.Name] = [2][]byte{raw, sig}
	}
	if _, ok := lists[sign.LastTeamFile]; !ok {
		return nil, denied(fault.MalformedObject, "%s holds no list of keys", commit)
	}
	return lists, pj.namedTips(ctx, lists, seen)
}

// namedTips requires each tree beside the lists to be a tree of tips named in a list. No
// signature covers any other tree, and nothing would remove it again.
func (pj publishedJudge) namedTips(ctx context.Context, lists map[string][2][]byte, trees []string) error {
	if len(trees) == 0 {
		return nil
	}
	named := map[string]bool{}
	for _, files := range lists {
		team, err := sign.ParseTeam(files[0])
		if err != nil {
			continue
		}
		for _, key := range team.Keys {
			for _, tree := range key.Seen {
				named[tree] = true
			}
		}
	}
	for _, tree := range trees {
		if !named[tree] {
			return denied(fault.MalformedObject, "no list of keys names the tree %s", tree)
		}
		o, err := pj.Verifier.Repo.Read(ctx, tree, lifecycle.MaxTips)
		if err != nil {
			return err
		}
		if o == nil || o.Type != "tree" || !lifecycle.IsTips(o) {
			return denied(fault.MalformedObject, "%s is not a tree of tips", tree)
		}
	}
	return nil
}

// alone requires that the commit of a list brings only the list. Its only parent may be the commit
// before it, because any other history would come in unjudged.
func (pj publishedJudge) alone(ctx context.Context, e refs.Edit) error {
	o, err := pj.Verifier.Repo.Read(ctx, e.New, maxCode)
	if err != nil {
		return err
	}
	if o == nil || o.Type != "commit" {
		return denied(fault.MalformedObject, "%s is not a commit", e.New)
	}
	for _, parent := range gitobj.Header(o.Body, "parent") {
		if parent != e.Old {
			return denied(fault.MalformedObject, "it brings a history that is not here, %s", parent)
		}
	}
	return nil
}

// carrier requires that a published file is carried as [publishedJudge.carries] says, if refs are branches.
func (pj publishedJudge) carrier(ctx context.Context, e refs.Edit) error {
	if pj.carriers() {
		return pj.carries(ctx, e, maxPointer)
	}
	return nil
}

// carries requires that the commit around a file is the one that githandoff makes for it. Any other
// commit could bring a history or a text that nobody judged.
func (pj publishedJudge) carries(ctx context.Context, e refs.Edit, limit int64) error {
	if e.New == "" {
		return nil
	}
	o, _, err := refs.Carried(ctx, pj.Verifier.Repo, e.New, limit)
	if err != nil {
		return err
	}
	if o != nil && o.Type == "blob" {
		for _, parent := range []string{"", e.Old} {
			if made := refs.Carrier(o.OID, parent); made[len(made)-1].OID == e.New {
				return nil
			}
		}
	}
	return denied(fault.MalformedObject, "%s is not the commit that githandoff makes to carry a file", e.New)
}

// file reads the published file of a ref.
func (pj publishedJudge) file(ctx context.Context, oid string, limit int64) ([]byte, error) {
	if !pj.carriers() {
		return pj.part(ctx, oid, limit)
	}
	o, _, err := refs.Carried(ctx, pj.Verifier.Repo, oid, limit)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "blob" {
		return nil, denied(fault.MalformedObject, "%s carries no file", oid)
	}
	return o.Body, nil
}

// readable requires that git can read the object of a published ref of this hub, and the entries of
// its tree. An unreadable file may be a key or a list. The error is not a refusal: the push cannot
// be judged.
func (pj publishedJudge) readable(ctx context.Context, oid string) error {
	repo := pj.Verifier.Repo
	names := []string{oid}
	tree, err := repo.Read(ctx, oid+"^{tree}", maxCode)
	if err == nil && tree != nil {
		entries, _ := repo.Format.ParseTree(tree.Body)
		for _, entry := range entries[:min(len(entries), maxTeamFiles+maxTips)] {
			names = append(names, entry.OID)
		}
	}
	for _, name := range names {
		o, err := repo.Read(ctx, name, maxCode)
		if fault.Is(err, fault.TooLarge) {
			continue
		}
		if err != nil {
			return err
		}
		if o == nil {
			return fmt.Errorf("git at this hub cannot read %s, which a published ref leads to", name)
		}
	}
	return nil
}

// part reads a blob of at most limit bytes.
func (pj publishedJudge) part(ctx context.Context, name string, limit int64) ([]byte, error) {
	o, err := pj.Verifier.Repo.Read(ctx, name, limit)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "blob" {
		return nil, denied(fault.MalformedObject, "%s is not a file", name)
	}
	return o.Body, nil
}
