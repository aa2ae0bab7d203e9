package guard

import (
	"bytes"
	"context"
	"strings"

	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// What may travel beside handoffs: published keys, and a team's list of keys.
const (
	keysPrefix = refs.Root + "keys/"
	teamRef    = refs.Root + "trust"

	maxTeamSig = 16 << 10 // bytes
)

// traveller reports whether a ref holds such a thing.
func traveller(name string) bool {
	digits, ok := strings.CutPrefix(name, keysPrefix)
	if ok {
		_, ok = sign.FromHex(digits)
	}
	return ok || name == teamRef
}

// travel: a key is the one that its ref names, and a team's list is a newer one
// that a root key of the hub's own trust signed.
func (g *Guard) travel(ctx context.Context, e refs.Edit) error {
	if e.New == "" {
		return denied("rollback", "what is published here stays")
	}
	if e.Ref == teamRef {
		return g.team(ctx, e)
	}
	kid, _ := sign.FromHex(strings.TrimPrefix(e.Ref, keysPrefix))
	text, err := g.part(ctx, e.New, sign.MaxKey)
	if err != nil {
		return err
	}
	public, err := sign.ParsePublic(text)
	switch {
	case err != nil:
		return denied("malformed_object", "no key: %w", err)
	case public.KID() != kid:
		return denied("untrusted_key", "it holds another key, %s", public.KID())
	}
	return nil
}

func (g *Guard) team(ctx context.Context, e refs.Edit) error {
	if err := g.alone(ctx, e); err != nil {
		return err
	}
	next, err := g.openTeam(ctx, e.New)
	if err != nil {
		return err
	}
	if !g.Home.Answers(next.Home) {
		return denied("audience_mismatch", "the list of keys is for %s", next.Home)
	}
	if e.Old == "" {
		return nil
	}
	// One that does not verify any more, its signer having gone, holds nobody up.
	if before, err := g.openTeam(ctx, e.Old); err == nil && next.Serial <= before.Serial {
		return denied("rollback", "list %d of keys does not follow on list %d", next.Serial, before.Serial)
	}
	return nil
}

// alone: the commit of a list brings nothing but the list. It stands on the one
// before, or on nothing: a history of its own would come in unjudged.
func (g *Guard) alone(ctx context.Context, e refs.Edit) error {
	o, err := g.Engine.Repo.Read(ctx, e.New, maxCode)
	if err != nil {
		return err
	}
	if o == nil || o.Type != "commit" {
		return denied("malformed_object", "%s is no commit", e.New)
	}
	head, _, _ := bytes.Cut(o.Body, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		if parent, ok := bytes.CutPrefix(line, []byte("parent ")); ok && string(bytes.TrimSpace(parent)) != e.Old {
			return denied("malformed_object", "it brings a history that is not here, %s", bytes.TrimSpace(parent))
		}
	}
	return nil
}

func (g *Guard) openTeam(ctx context.Context, commit string) (*sign.Team, error) {
	raw, err := g.part(ctx, commit+":trust.json", sign.MaxTeam)
	if err != nil {
		return nil, err
	}
	sig, err := g.part(ctx, commit+":trust.json.sig", maxTeamSig)
	if err != nil {
		return nil, err
	}
	return g.Engine.Trust.OpenTeam(raw, sig, g.Engine.Now())
}

// part reads a blob of at most limit bytes.
func (g *Guard) part(ctx context.Context, name string, limit int64) ([]byte, error) {
	o, err := g.Engine.Repo.Read(ctx, name, limit)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "blob" {
		return nil, denied("malformed_object", "%s is no file", name)
	}
	return o.Body, nil
}
