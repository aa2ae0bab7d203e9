package workspace

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/sign"
)

// IsOpen reports whether a handoff is under way and its content is there.
func IsOpen(s *lifecycle.State) bool { return s.Receipt == nil && len(s.Chain) > 0 }

// Content reads the envelope of a handoff that is open, sent, queued or archived; nil if it
// is gone.
func (w *Workspace) Content(ctx context.Context, f *View) (*handoff.Envelope, error) {
	if IsOpen(f.State) {
		v, err := w.Engine.Verifier.Verify(ctx, f.Home, f.State, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
		if err != nil {
			return nil, err
		}
		return v.Envelope(), nil
	}
	places := []string{refs.Archive(f.State.ID)}
	if f.Item != nil && f.Item.Kind != "inbox" {
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

// archived proves a payload that no inbox leads to: signed by a key that is trusted
// now, and the one that the log names, if it names one.
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
	case s.Payload == "": // never offered anywhere: nothing but its signature speaks for it
		if err := key.MayAct(sign.RoleSender, r.From, r.At); err != nil && key.MayAct(sign.RoleRoot, "", r.At) != nil {
			return nil, err
		}
	}
	if p.Unread != nil {
		return nil, p.Unread
	}
	return p.Envelope, screen.Envelope(p.Envelope)
}
