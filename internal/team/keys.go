package team

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// keysOf returns the prefix of the published keys in a namespace. The rest of a name is sign.Hex of
// a key, and the ref leads to a blob with its text. Published keys are not trusted: they serve
// users who have the fingerprint from the key's owner.
func keysOf(s refs.Namespace) string { return string(s) + "keys/" }

// seenOf returns the prefix of this clone's memory of published keys: the merged packets of all
// copies seen.
func seenOf(s refs.Namespace) string { return string(s) + "keys-seen/" }

// PublishKey publishes a public key at a hub, merged with the copies there and here, and returns the
// name of its ref there.
func (t *Team) PublishKey(ctx context.Context, hub *crossrepo.Hub, public sign.PublicKey) (string, error) {
	ref := keysOf(hub.Namespace()) + sign.Hex(public.KID())
	merge := func() (err error) {
		if there, unread := keyIn(ctx, t.Engine.Repo, ref, public.KID()); unread == nil {
			public, err = public.With(there)
		}
		return err
	}
	if err := merge(); err != nil { // the fetch drops the copy if the hub has lost the key
		return "", err
	}
	for try := 0; ; try++ {
		if err := hub.FetchPresent(ctx, ref); err != nil {
			return "", err
		}
		old, err := t.Engine.Repo.Resolve(ctx, ref)
		if err == nil {
			err = merge()
		}
		if err != nil {
			return "", err
		}
		text := []byte(public.Text())
		if there, _, err := refs.Carried(ctx, t.Engine.Repo, ref, sign.MaxKey); err == nil && there != nil && bytes.Equal(there.Body, text) {
			return hub.RemoteName(ref), nil
		}
		file := crossrepo.File(hub, text, old)
		if err := t.Engine.Repo.Store.Write(file...); err != nil {
			return "", err
		}
		if err = hub.Publish(ctx, refs.Edit{Ref: ref, Old: old, New: file[len(file)-1].OID}, file...); err == nil || try == publishTries || errors.Is(err, refs.ErrRefused) {
			return hub.RemoteName(ref), err
		}
	}
}

// publishTries bounds how often something is published anew because others were
// faster.
const publishTries = 3

// PublishedKey finds a published key by its name: in this repository (in a hub with a prefix,
// first below the prefix), or else at the known hubs. Another key under the name is refused.
func (t *Team) PublishedKey(ctx context.Context, kid sign.KID) (public sign.PublicKey, where string, err error) {
	prefix, err := crossrepo.HubPrefix(t.Engine.Repo)
	if err != nil {
		return public, "", err
	}
	if prefix != "" && t.Engine.Repo.Bare {
		if public, err = KeyHere(ctx, t.Engine.Repo, refs.Namespace(prefix+"/"), kid); !fault.Is(err, fault.NoKey) {
			return public, "this repository", err
		}
	}
	public, err = KeyHere(ctx, t.Engine.Repo, refs.LocalNamespace, kid)
	if err == nil {
		return public, "this repository", nil
	}
	first := err
	for _, name := range t.Aliases.Names() {
		hub, err := t.Workspace.Hub(ctx, name)
		if err == nil {
			err = hub.FetchPublished(ctx, keysOf(hub.Namespace())+sign.Hex(kid))
		}
		if err == nil {
			_, err = t.rememberKeys(ctx, hub, sign.Hex(kid))
		}
		if err == nil {
			public, err = KeyHere(ctx, t.Engine.Repo, hub.Namespace(), kid)
		}
		if err == nil {
			return public, name, nil
		}
		if fault.Is(first, fault.NoKey) { // another error says more than that no key was found
			first = err
		}
	}
	return public, "", first
}

// KeyHere reads a published key in a namespace of a repository: the remembered copy, or else the
// published one. No hub is asked.
func KeyHere(ctx context.Context, repo *refs.Repo, namespace refs.Namespace, kid sign.KID) (public sign.PublicKey, err error) {
	for _, keys := range []string{seenOf(namespace), keysOf(namespace)} {
		if public, err = keyIn(ctx, repo, keys+sign.Hex(kid), kid); !fault.Is(err, fault.NoKey) {
			return public, err
		}
	}
	return public, err
}

func keyIn(ctx context.Context, repo *refs.Repo, ref string, kid sign.KID) (sign.PublicKey, error) {
	o, _, err := refs.Carried(ctx, repo, ref, sign.MaxKey)
	if err != nil {
		return sign.PublicKey{}, err
	}
	if o == nil {
		return sign.PublicKey{}, fault.New(fault.NotFound, fault.NoKey, "no key %q is here, and none is published", kid).
			WithHints(fault.Hint{Why: "its owner publishes it: githandoff key export --to origin"})
	}
	return parsePublished(o, ref, kid)
}

// parsePublished reads a published key, which must be the one named by its ref.
func parsePublished(o *refs.Object, ref string, kid sign.KID) (sign.PublicKey, error) {
	if o.Type != "blob" {
		return sign.PublicKey{}, fault.New(fault.Denied, fault.MalformedObject, "%s is a %s, not a key", ref, o.Type)
	}
	public, err := sign.ParsePublic(o.Body)
	switch {
	case err != nil:
		return public, fault.New(fault.Denied, fault.MalformedObject, "%s: %w", ref, err)
	case public.KID() != kid:
		return sign.PublicKey{}, fault.New(fault.Denied, fault.UntrustedKey, "%s holds another key, %s", ref, public.KID()).
			WithHints(fault.Fact("someone replaced it: get the key from its owner"))
	}
	return public, nil
}

// LocalCopy returns this repository's copy of the published key with the id. Its user id proves
// nothing.
func (t *Team) LocalCopy(ctx context.Context, kid sign.KID) (public sign.PublicKey, ok bool) {
	if sign.CheckKID(kid) != nil {
		return public, false
	}
	hex := sign.Hex(kid)
	list, err := t.Engine.Repo.List(ctx, keysOf(refs.LocalNamespace)+hex, refs.Root+"remotes/*/keys-seen/"+hex, refs.Root+"remotes/*/keys/"+hex)
	if err != nil {
		return public, false
	}
	for _, ref := range list {
		one, err := keyIn(ctx, t.Engine.Repo, ref.Name, kid)
		if err != nil {
			continue
		}
		if !ok {
			public, ok = one, true
		} else if both, err := public.With(one); err == nil {
			public = both
		}
	}
	return public, ok
}

// maxUnpinned bounds how many published keys are listed.
const maxUnpinned = 200

// Unpinned returns published keys not pinned here, as far as this repository has copies. Their
// user ids prove nothing. More is the number of refs that were not read.
func (t *Team) Unpinned(ctx context.Context) (unpinned []sign.PublicKey, more int, err error) {
	list, err := t.Engine.Repo.List(ctx, keysOf(refs.LocalNamespace), refs.Root+"remotes/*/keys/*")
	if err != nil {
		return nil, 0, err
	}
	seen := map[sign.KID]bool{}
	for _, ref := range list {
		kid, ok := sign.FromHex(ref.Name[strings.LastIndexByte(ref.Name, '/')+1:])
		if _, pinned := t.Engine.Keys.Trust.Lookup(kid); !ok || pinned || seen[kid] {
			continue
		}
		if len(unpinned) == maxUnpinned {
			more++
			continue
		}
		o, _, err := refs.Carried(ctx, t.Engine.Repo, ref.OID, sign.MaxKey)
		if err != nil || o == nil {
			continue // a ref that holds no key is not reported
		}
		if public, err := parsePublished(o, ref.Name, kid); err == nil {
			seen[kid], unpinned = true, append(unpinned, public)
		}
	}
	return unpinned, more, nil
}

// rememberKeys merges fetched keys with the remembered copies, so that no packet of a published
// key is lost. Only is the end of the ref of one key; "" means all of them. It returns the
// remembered copies of pinned keys. If a copy of one is lost here, it is left out, and the error has
// the reason missing_object.
func (t *Team) rememberKeys(ctx context.Context, hub *crossrepo.Hub, only string) ([]sign.PublicKey, error) {
	if only == "" && hub.Crowded() {
		t.Workspace.Warn(fmt.Errorf("%s has too many published keys: only those that are trusted here are read (githandoff trust add KID reads one more)", hub.Alias.Name))
	}
	keys, seen := keysOf(hub.Namespace()), seenOf(hub.Namespace())
	list, err := t.Engine.Repo.List(ctx, keys+only, seen+only)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, ref := range list {
		if name, ok := strings.CutPrefix(ref.Name, seen); ok {
			known[name] = ref.OID
		}
	}
	var edits []refs.Edit
	var blobs []*refs.Object
	var pinned []sign.PublicKey
	var lost error
	for _, ref := range list {
		name, ok := strings.CutPrefix(ref.Name, keys)
		kid, named := sign.FromHex(name)
		_, trusted := t.Engine.Keys.Trust.Lookup(kid)
		if !ok || !named || ref.OID == known[name] && !trusted || t.repeats(ctx, ref, kid, known[name]) {
			continue
		}
		public, err := t.merged(ctx, hub, kid)
		if trusted && fault.Is(err, fault.MissingObject) {
			lost = err
		}
		if err != nil {
			continue // a ref that holds no key is not reported
		}
		if blob := refs.NewObject(t.Engine.Repo.Format, "blob", []byte(public.Text())); blob.OID != known[name] {
			blobs, edits = append(blobs, blob), append(edits, refs.Edit{Ref: seen + name, Old: known[name], New: blob.OID})
		}
		if trusted {
			pinned = append(pinned, public)
		}
	}
	return pinned, cmp.Or(t.Engine.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: blobs}), lost)
}

// repeats reports whether a published key is the remembered copy still, and says nothing new of a pinned key. Most
// are and do: they are not parsed in each sync.
func (t *Team) repeats(ctx context.Context, ref refs.Ref, kid sign.KID, known string) bool {
	o, _, err := refs.Carried(ctx, t.Engine.Repo, ref.OID, sign.MaxKey)
	if err != nil || o == nil || o.OID != known {
		return false
	}
	key, trusted := t.Engine.Keys.Trust.Lookup(kid)
	return !trusted || key.Repeats(o.Body)
}

// merged returns a published key with the packets of the remembered copy.
func (t *Team) merged(ctx context.Context, hub *crossrepo.Hub, kid sign.KID) (sign.PublicKey, error) {
	public, err := keyIn(ctx, t.Engine.Repo, keysOf(hub.Namespace())+sign.Hex(kid), kid)
	if err != nil {
		return public, err
	}
	before, err := keyIn(ctx, t.Engine.Repo, seenOf(hub.Namespace())+sign.Hex(kid), kid)
	if fault.Is(err, fault.MissingObject) {
		return public, err
	}
	if err != nil {
		return public, nil //nolint:nilerr // this clone remembers no copy
	}
	if !public.Holds(before) {
		t.Workspace.Warn(fault.New(fault.Denied, fault.Rollback, "%s has an older copy of key %s than this clone has seen: the newer one counts", hub.Alias.Name, kid))
	}
	both, err := public.With(before)
	if err != nil {
		return before, nil //nolint:nilerr // the remembered copy counts
	}
	return both, nil
}

// learnKeys takes over what the owners of pinned keys published of them, and says
// which of them were revoked.
func (t *Team) learnKeys(ctx context.Context, hub *crossrepo.Hub) error {
	published, lost := t.rememberKeys(ctx, hub, "")
	for _, public := range published {
		if err := t.Engine.Keys.Trust.Learn(public, t.Engine.Now()); err != nil {
			return err
		}
		if err := public.Revoked(t.Engine.Now()); err != nil {
			t.Workspace.Warn(fault.New(fault.Denied, fault.KeyRevoked, "%w: its signatures no longer count here", err))
		}
	}
	return lost
}
