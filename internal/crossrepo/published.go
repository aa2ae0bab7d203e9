package crossrepo

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/invite"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Publish pushes one ref outside any handoff, leased at the value read.
func (h *remote) Publish(ctx context.Context, edit refs.Edit, objects ...*refs.Object) error {
	t := refs.Transaction{Edits: []refs.Edit{edit}, Objects: objects}
	report, err := h.Push(ctx, t)
	if refused := h.guardRefusal(err); refused != nil {
		return refused
	}
	if report.RefusedForGood(t.Edits) {
		return h.errPushRefused(ctx, t.Edits, report, err)
	}
	if err != nil || !report.Accepted(t.Edits) {
		said := GitSaid(err)
		if other := errFormat(h, said); other != nil {
			return other
		}
		return fault.New(fault.Unavailable, fault.HubRefused, "%s does not take %s: %s", h.Alias.Name, h.RemoteName(edit.Ref), said).
			WithHints(h.Alias.settingOr(said, fault.Run("githandoff", "doctor").Because("shows what the hub takes")))
	}
	noteTaken(h, edit)
	return h.Repo.Apply(ctx, t)
}

// FetchPresent fetches the hub's refs of some copies, in one round trip. A copy goes if the hub has lost
// its ref.
func (h *remote) FetchPresent(ctx context.Context, copies ...string) error {
	var specs []string
	for _, ref := range copies {
		specs = append(specs, specOf(h.RemoteName(ref), ref))
	}
	return h.errUnreachable(h.fetch(ctx, fetchRequest{specs: specs}))
}

// FetchPublished is like FetchPresent for one copy, which stays even if the hub has lost its ref.
func (h *remote) FetchPublished(ctx context.Context, ref string) error {
	return h.errUnreachable(h.fetch(ctx, fetchRequest{flags: []string{"--no-prune"}, specs: []string{specOf(h.RemoteName(ref), ref)}}))
}

// FetchNotes brings the notes of a hub here, whatever they are.
func (h *remote) FetchNotes(ctx context.Context) error {
	return h.fetch(ctx, fetchRequest{specs: h.notesSpecs(), notes: true})
}

// notesSpecs returns the refspecs of the notes of a hub.
func (n refNames) notesSpecs() []string {
	theirs := n.RemoteName(n.NotesCopy())
	return []string{specOf(theirs, n.NotesCopy()), "^" + theirs + "/*", "^" + theirs + "-*"}
}

// Invites are the invitations at one hub: blobs outside any handoff. Package internal/invite
// verifies them.
type Invites struct {
	Hub *Hub
}

func (in Invites) ref(id string) string { return string(in.Hub.Namespace()) + "invites/" + id }

// Where returns the repo id of the hub.
func (in Invites) Where() string { return in.Hub.ID() }

// Fetch brings in invitations, in one round trip.
func (in Invites) Fetch(ctx context.Context, ids []string) error {
	var copies []string
	for _, id := range ids {
		copies = append(copies, in.ref(id))
	}
	return in.Hub.FetchPresent(ctx, copies...)
}

// Read reads a fetched invitation: its text, and the object its ref leads to; "" where the hub
// has none.
func (in Invites) Read(ctx context.Context, id string) (body []byte, oid string, err error) {
	o, tip, err := refs.Carried(ctx, in.Hub.Repo, in.ref(id), invite.MaxMessages)
	if err != nil || o == nil {
		return nil, "", err
	}
	if o.Type != "blob" {
		return nil, "", fault.New(fault.Denied, fault.MalformedObject, "%s is a %s, not an invitation", in.Hub.RemoteName(in.ref(id)), o.Type)
	}
	return o.Body, tip, nil
}

// Write puts an invitation in the place of old, "" for none. The same push publishes a public
// key, if this clone does not know it to be published there.
func (in Invites) Write(ctx context.Context, id, old string, body []byte, public sign.PublicKey) error {
	text, key := File(in.Hub, body, old), File(in.Hub, []byte(public.Text()), "")
	objects := slices.Concat(text, key)
	if err := in.Hub.Repo.Store.Write(objects...); err != nil {
		return err
	}
	edits := []refs.Edit{{Ref: in.ref(id), Old: old, New: text[len(text)-1].OID}}
	published := string(in.Hub.Namespace()) + "keys/" + sign.Hex(public.KID())
	if there, err := in.Hub.Repo.Resolve(ctx, published); err == nil && there == "" {
		edits = append(edits, refs.Edit{Ref: published, New: key[len(key)-1].OID})
	}
	err := in.push(ctx, edits, objects...)
	if err != nil && len(edits) > 1 { // the key may be published already, or refused by a guard
		err = in.push(ctx, edits[:1], objects...)
	}
	return err
}

// Erase removes a fetched invitation, whatever it is.
func (in Invites) Erase(ctx context.Context, id string) error {
	old, err := in.Hub.Repo.Resolve(ctx, in.ref(id))
	if err != nil || old == "" {
		return err
	}
	return in.push(ctx, []refs.Edit{{Ref: in.ref(id), Old: old}})
}

// push moves an invitation, the first edit, and publishes a key with it. A key that is published
// already is up to date.
func (in Invites) push(ctx context.Context, edits []refs.Edit, objects ...*refs.Object) error {
	report, err := in.Hub.Push(ctx, refs.Transaction{Edits: edits, Objects: objects})
	for _, e := range edits[1:] {
		if name := in.Hub.RemoteName(e.Ref); report.lines[name].flag == '=' {
			report.lines[name] = reportLine{flag: '*'}
		}
	}
	switch {
	case err == nil && report.Accepted(edits):
		return in.settle(ctx, edits, objects...)
	case err == nil: // the hub already has the new value
		return fault.New(fault.Conflict, fault.Stale, "%s has another %s by now", in.Hub.Alias.Name, in.Hub.RemoteName(edits[0].Ref)).
			WithHints(fault.Fact("another process was faster: run the command again"))
	}
	if refused := in.Hub.guardRefusal(err); refused != nil {
		return refused
	}
	if edits[0].New != "" && report.culprit() != "" { // an account that may not delete invitations can still hand work over
		return refusal(ctx, in.Hub, edits, report, err)
	}
	said := GitSaid(err)
	if other := errFormat(&in.Hub.remote, said); other != nil {
		return other
	}
	if len(report.lines) == 0 { // the hub reported on no ref
		return fault.New(fault.Unavailable, fault.RemoteUnavailable, "cannot write to %s (%s): %s", in.Hub.Alias.Name, in.Hub.Alias.URL, said).
			WithHints(in.Hub.Alias.settingOr(said, fault.Run("git", "ls-remote", "--", in.Hub.Alias.hinted()).Because("says more")))
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s does not take %s: %s", in.Hub.Alias.Name, in.Hub.RemoteName(edits[0].Ref), said).
		WithHints(in.Hub.Alias.settingOr(said, fault.Run("githandoff", "doctor").Because("shows what the hub takes")))
}

// settle moves the copy of the key, and drops that of the invitation.
func (in Invites) settle(ctx context.Context, edits []refs.Edit, objects ...*refs.Object) error {
	in.Hub.book.forgetRefusals(edits[0].New == "")
	if len(edits) > 1 {
		if err := in.Hub.Repo.Apply(ctx, refs.Transaction{Edits: edits[1:], Objects: objects}); err != nil {
			return err
		}
	}
	return refs.Drop(ctx, in.Hub.Repo, edits[0].Ref)
}

// File makes the objects of a file to publish at a hub in the place of another object, "" for
// none. The ref leads to the last one: the blob, or, at a hub with a prefix, the commit
// carrying it.
func File(h *Hub, body []byte, before string) []*refs.Object {
	blob := refs.NewObject(h.Repo.Format, "blob", body)
	if h.Alias.Prefix == "" {
		return []*refs.Object{blob}
	}
	return append([]*refs.Object{blob}, refs.Carrier(blob.OID, before)...)
}
