package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Payload is a signed handoff, ready to be offered at its home.
type Payload struct {
	Envelope *handoff.Envelope // only an outline if Unread is set
	Unread   error             // the error of opening a payload that is sealed for others; else nil
	Sealed   bool
	Record   record.Record
	Agent    string // inbox of the handoff: the target agent, or handoff.Nobody
	Commit   *refs.Object
	Objects  []*refs.Object // blobs, trees and the commit

	mail string // mail address of the commit's author; a payload read back may have a person's
}

// Sealing returns the same author, but with payloads sealed for the keys of their agents.
func (by *Author) Sealing() *Author {
	sealing := *by
	sealing.seal = true
	return &sealing
}

// Prepare turns an envelope into a payload commit for the given home. The
// envelope is complete: id, salt, times and source are set. It carries no
// authority; see PrepareFor.
func (by *Author) Prepare(ctx context.Context, home Home, env *handoff.Envelope, principal string) (*Payload, error) {
	raw, err := by.wrap(env)
	if err != nil {
		return nil, err
	}
	return by.prepare(ctx, home, env, raw, record.Record{Principal: principal}, nil)
}

// prepare signs the payload commit over the blob of an envelope and its tokens.
func (by *Author) prepare(ctx context.Context, home Home, env *handoff.Envelope, raw []byte, rec record.Record, links []obo.SignedToken) (*Payload, error) {
	blob := refs.NewObject(by.Format, "blob", raw)
	parts, objects := payloadTree{envelope: blob.OID, sealed: by.seal}, []*refs.Object{blob}
	if len(links) > 0 {
		tokens, err := by.tokenObjects(links)
		if err != nil {
			return nil, err
		}
		objects = append(objects, tokens...)
		parts.obo = tokens[len(tokens)-1].OID
	}
	body, err := encodePayloadTree(parts)
	if err != nil {
		return nil, err
	}
	tree := refs.NewObject(by.Format, "tree", body)
	expires, err := handoff.ParseTime(env.ExpiresAt)
	if err != nil {
		return nil, err
	}
	rec.ID, rec.From, rec.To, rec.Home = env.ID, env.Source.Agent, InboxOf(env), home.ID()
	rec.Digest, rec.Expires = handoff.Digest(raw), expires
	rec.Task, rec.Parent, rec.Counts, rec.Status = env.Task, env.Parent, env.Counts(), env.Status
	rec.OnFailure = onFailure(env)
	if err := by.stamp(&rec, record.Offered, ""); err != nil {
		return nil, err
	}
	if err := by.maySign(&rec); err != nil {
		return nil, err
	}
	commit, err := by.commit(ctx, sign.Mail(by.Actor), &rec, tree.OID)
	if err != nil {
		return nil, err
	}
	return &Payload{
		Envelope: env, Sealed: by.seal, Record: rec, Agent: rec.To, Commit: commit, Objects: append(objects, tree, commit),
		mail: sign.Mail(by.Actor),
	}, nil
}

// onFailure returns the agent to take a failed handoff back; "" if none is named.
func onFailure(env *handoff.Envelope) string {
	if env.Rollback == nil {
		return ""
	}
	return env.Rollback.OnFailure
}

// InboxOf returns the inbox of a new handoff: that of its agent or, if a person or the policy has to name
// one, handoff.Nobody. It depends on the target alone, not on the status of the work.
func InboxOf(env *handoff.Envelope) string {
	if env.Target.Agent == nil {
		return handoff.Nobody
	}
	return *env.Target.Agent
}

// wrap makes the blob of an envelope: its canonical bytes, sealed if the author seals.
func (by *Author) wrap(env *handoff.Envelope) ([]byte, error) {
	raw, err := handoff.Encode(env)
	if err != nil || !by.seal {
		return raw, err
	}
	if InboxOf(env) == handoff.Nobody {
		return nil, fault.New(fault.Usage, fault.NoAgent, "handoff %s is for nobody yet, so it cannot be sealed", env.ID).
			WithHints(fault.See("emit").Because("--to names the agent that it is sealed for"))
	}
	to, err := by.Keys.openers(*env.Target.Agent)
	if err != nil {
		return nil, err
	}
	return sign.Seal(raw, to, by.Keys.now(), by.Random)
}

// Reload reads a payload commit of ours back from a ref (the outbox), for delivery as it was
// signed.
func (vr *Verifier) Reload(ctx context.Context, ref string) (*Payload, error) {
	s, o, err := vr.kept(ctx, ref)
	if err != nil {
		return nil, err
	}
	v, err := vr.open(ctx, s)
	if err != nil && !errors.Is(err, sign.ErrSealed) {
		return nil, err
	}
	return &Payload{Envelope: v.envelope, Unread: err, Sealed: v.sealed, Record: *s.Offer, Agent: s.To, Commit: o, mail: s.Chain[0].Commit.Email}, nil
}

// kept reads a payload commit from a ref, and makes a state of the handoff from it alone.
func (vr *Verifier) kept(ctx context.Context, ref string) (*State, *refs.Object, error) {
	o, err := vr.Repo.Read(ctx, ref, record.MaxCommit)
	if err != nil {
		return nil, nil, err
	}
	if o == nil {
		return nil, nil, fault.New(fault.NotFound, fault.UnknownHandoff, "%s is not there", ref)
	}
	c, err := record.ParseCommit(o.Body)
	if err == nil && o.Type != "commit" {
		err = fmt.Errorf("a %s", o.Type)
	}
	if err != nil {
		return nil, nil, denied(fault.MalformedObject, "%s: %w", ref, err)
	}
	return &State{
		ID: c.Record.ID, Agent: c.Record.To, To: c.Record.To, Tip: o.OID, Payload: o.OID, Offer: c.Record,
		Chain: []Link{{OID: o.OID, Commit: c}},
	}, o, nil
}

// ReloadOffer reads the payload commit below a commit of an inbox ref.
func (vr *Verifier) ReloadOffer(ctx context.Context, oid string) (*Payload, error) {
	for range maxChain {
		o, err := vr.Repo.Read(ctx, oid, record.MaxCommit)
		if err != nil {
			return nil, err
		}
		if o == nil {
			return nil, fault.New(fault.NotFound, fault.UnknownHandoff, "commit %s is not there", oid)
		}
		parent := gitobj.FirstParent(o.Body)
		if parent == "" {
			return vr.Reload(ctx, oid)
		}
		oid = parent
	}
	return nil, denied(fault.MalformedObject, "commit %s: too many commits for one handoff", oid)
}

// checkMail refuses a payload whose mail address readers do not accept. A version without the rule
// on mail addresses made it after that rule began.
func (p *Payload) checkMail(keys *Keys) error {
	key, ok := keys.Trust.Lookup(p.Record.Key)
	if !ok {
		return nil
	}
	err := checkNames(key, &record.Commit{Email: p.mail, Record: &p.Record})
	if f := fault.As(err); f != nil {
		return f.WithHints(fault.Run("githandoff", "revoke", string(p.Record.ID)).Because("takes it back, so that it can be sent again"))
	}
	return err
}

// DefaultTTL is how long a handoff waits before it expires.
const DefaultTTL = 7 * 24 * time.Hour

const (
	envelopeName = "handoff.json"
	oboName      = "obo"

	maxTree = 4096 // limit of a tree in bytes; an entry has about 40
)

// payloadTree is the tree of a payload commit, by the object ids in it.
type payloadTree struct {
	envelope string
	sealed   bool   // whether the envelope is sealed
	obo      string // tree of the tokens; "" if there are none
}

// parsePayloadTree accepts exactly what encodePayloadTree writes.
func parsePayloadTree(format gitobj.Format, raw []byte) (payloadTree, error) {
	var t payloadTree
	entries, err := format.ParseTree(raw)
	for _, e := range entries {
		switch {
		case e.Mode == gitobj.File && e.Name == envelopeName:
			t.envelope = e.OID
		case e.Mode == gitobj.File && e.Name == sealedName:
			t.envelope, t.sealed = e.OID, true
		case e.Mode == gitobj.Dir && e.Name == oboName:
			t.obo = e.OID
		}
	}
	if again, aerr := encodePayloadTree(t); err != nil || aerr != nil || !bytes.Equal(again, raw) {
		return payloadTree{}, denied(fault.MalformedObject, "the tree of the payload holds something other than %s and %s", envelopeName, oboName)
	}
	return t, nil
}

func encodePayloadTree(t payloadTree) ([]byte, error) {
	name := envelopeName
	if t.sealed {
		name = sealedName
	}
	entries := []gitobj.TreeEntry{{Mode: gitobj.File, Name: name, OID: t.envelope}}
	if t.obo != "" {
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.Dir, Name: oboName, OID: t.obo})
	}
	return gitobj.EncodeTree(entries)
}

// linkIDs are the object ids of one token and its signature.
type linkIDs struct{ token, sig string }

// parseTokenTree accepts exactly what encodeTokenTree writes, of 1 to
// obo.MaxLinks links.
func parseTokenTree(format gitobj.Format, raw []byte) ([]linkIDs, error) {
	entries, err := format.ParseTree(raw)
	links := make([]linkIDs, len(entries)/2)
	for i := range links {
		links[i] = linkIDs{entries[2*i].OID, entries[2*i+1].OID}
	}
	if again, aerr := encodeTokenTree(links); err != nil || aerr != nil || len(links) == 0 || !bytes.Equal(again, raw) {
		return nil, denied(fault.MalformedObject, "the tree %s of the payload holds something other than tokens", oboName)
	}
	if len(links) > obo.MaxLinks {
		return nil, denied(fault.DepthInvalid, "a chain of %d tokens, limit %d", len(links), obo.MaxLinks)
	}
	return links, nil
}

func encodeTokenTree(links []linkIDs) ([]byte, error) {
	var entries []gitobj.TreeEntry
	for i, l := range links {
		n := strconv.Itoa(i)
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.File, Name: n + ".json", OID: l.token}, gitobj.TreeEntry{Mode: gitobj.File, Name: n + ".sig", OID: l.sig})
	}
	return gitobj.EncodeTree(entries)
}

// tokenPath returns the path of the last of n tokens in the payload.
func tokenPath(n int) string { return fmt.Sprintf("%s/%d.json", oboName, n-1) }

// tokenObjects returns the blobs of a chain and, last, their tree.
func (by *Author) tokenObjects(links []obo.SignedToken) ([]*refs.Object, error) {
	var objects []*refs.Object
	var ids []linkIDs
	for _, l := range links {
		token, sig := refs.NewObject(by.Format, "blob", l.Token), refs.NewObject(by.Format, "blob", l.Sig)
		objects = append(objects, token, sig)
		ids = append(ids, linkIDs{token.OID, sig.OID})
	}
	body, err := encodeTokenTree(ids)
	return append(objects, refs.NewObject(by.Format, "tree", body)), err
}

const (
	sealedName = "handoff.json.pgp"

	maxSealed = handoff.MaxEnvelope + sign.SealOverhead // limit in bytes
)

// unseal decrypts the envelope of a handoff with the author's key.
func (vr *Verifier) unseal(ctx context.Context, id handoff.ID, blob []byte) ([]byte, error) {
	raw, err := vr.unsealed(ctx, blob)
	if f := fault.As(err); f != nil {
		return nil, fault.New(f.Code, f.Reason, "handoff %s: %w", id, err).WithHints(f.Hints...)
	}
	return raw, err
}

func (vr *Verifier) unsealed(ctx context.Context, blob []byte) ([]byte, error) {
	if err := sign.CheckSealed(blob); err != nil {
		return nil, err
	}
	signer, err := vr.Author.Signer, error(nil)
	if signer == nil && vr.Opener != nil {
		signer, err = vr.Opener(ctx)
	}
	if err != nil {
		return nil, err
	}
	if signer == nil {
		return nil, denied(fault.AudienceMismatch, "no key here can open it: %w", sign.ErrSealed).WithHints(fault.See("init").Because("--as names the agent whose key opens it"))
	}
	return sign.Unseal(ctx, signer, blob, handoff.MaxEnvelope)
}

// readTree reads the tree of the payload.
func readTree(ctx context.Context, repo *refs.Repo, s *State) (payloadTree, error) {
	raw, err := readPart(ctx, repo, "the tree of handoff "+string(s.ID), s.Chain[0].Commit.Tree, "tree", maxTree)
	if err != nil {
		return payloadTree{}, err
	}
	return parsePayloadTree(repo.Format, raw)
}

// IsSealed reports whether the payload of a loaded state is sealed. It is false if no offer
// counts: then no step can be taken. If no inbox ref leads to the payload, it may still be
// among the objects here; an error means nobody can tell.
func (vr *Verifier) IsSealed(ctx context.Context, s *State) (bool, error) {
	if len(s.Chain) == 0 {
		if s.Offer == nil {
			return false, nil
		}
		o, err := vr.Repo.Read(ctx, s.Payload, record.MaxCommit)
		if err != nil {
			return false, err
		}
		if o == nil {
			return false, fault.New(fault.NotFound, fault.UnknownHandoff, "the payload of handoff %s is gone: nobody can tell whether it is sealed, and its log is readable", s.ID).
				WithHints(fault.Fact("the next githandoff sync of its sender delivers it again"))
		}
		c, err := record.ParseCommit(o.Body)
		if err != nil {
			return false, denied(fault.MalformedObject, "commit %s: %w", o.OID, err)
		}
		s = &State{ID: s.ID, Chain: []Link{{OID: o.OID, Commit: c}}}
	}
	parts, err := readTree(ctx, vr.Repo, s)
	return parts.sealed, err
}

// Outline returns an envelope made of the trailers of a record, in place of one that cannot be
// opened.
func Outline(r *record.Record) *handoff.Envelope {
	env := &handoff.Envelope{ID: r.ID, Task: r.Task, Source: handoff.Source{Agent: r.From}, Parent: r.Parent, Status: r.Status}
	if r.To != handoff.Nobody {
		env.Target.Agent = &r.To
	}
	return env
}

// checkLogText refuses a sealed handoff with text in its log, beyond the common trailers: the log is
// not sealed.
func (v *Verified) checkLogText() error {
	for _, e := range v.state.Entries {
		if r := e.Record(); v.sealed && (r.Data != "" || r.SkillsMissing != "") {
			return denied(fault.MalformedObject, "%s by %s puts text into the log of a sealed handoff", r.Event, r.Actor)
		}
	}
	return nil
}
