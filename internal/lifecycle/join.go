package lifecycle

import (
	"context"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Join makes the entry that joins two histories of a lane, theirs (the hub's, its first
// parent) and ours. Our entries are read after the hub's, so that a second end or claim
// among them does not count. The entry bears the id of our newest one. Both histories are
// here already.
func (e *Engine) Join(ctx context.Context, theirs, ours string) (*refs.Object, error) {
	o, err := e.Repo.Read(ctx, ours, record.MaxCommit)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, denied(fault.Rollback, "lane entry %s is missing", ours)
	}
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return nil, denied(fault.MalformedObject, "lane entry %s: %w", ours, err)
	}
	last := c.Record
	rec := record.Record{
		ID: last.ID, From: last.From, To: last.To, Home: last.Home, Digest: last.Digest, Expires: last.Expires,
		Task: last.Task, Token: last.Token, Payload: last.Payload,
	}
	if err := e.Author.stamp(&rec, record.Joined, ""); err != nil {
		return nil, err
	}
	return e.Author.commit(ctx, &rec, refs.EmptyTree, theirs, ours)
}

// joins refuses a lane entry of several parents that no root key signed: as a
// fast-forward it could hide a receipt behind another history.
func (l *Lanes) joins(ctx context.Context, o *refs.Object) error {
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return refuseJoin(o.OID, err)
	}
	key, err := l.Keys.SignerOf("it", c)
	if err != nil {
		return refuseJoin(o.OID, err)
	}
	return l.joined(ctx, o.OID, c, key)
}

// joined is joins of an entry whose signature was checked. A key that is no root
// any more joined what this clone had seen when it noticed that, and nothing else:
// whoever stole it could give any date.
func (l *Lanes) joined(ctx context.Context, oid string, c *record.Commit, key sign.Key) error {
	if c.Record.Event != record.Joined || len(c.Parents) != 2 || c.Tree != refs.EmptyTree {
		return refuseJoin(oid, fmt.Errorf("as %q with %d parents", c.Record.Event, len(c.Parents)))
	}
	err := root(key, c.Record)
	if err == nil {
		err = named(key, c)
	}
	if err == nil && key.ValidAt(l.Keys.now()) != nil {
		err = l.witnessed(ctx, key, c.Record.ID.Lane(), oid)
	}
	if err != nil {
		return refuseJoin(oid, err)
	}
	return nil
}

func refuseJoin(oid string, why error) error {
	return denied(fault.Rollback, "lane entry %s joins histories: %w", oid, why)
}
