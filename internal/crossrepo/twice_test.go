package crossrepo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/audit"
	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// An audit of a home names a sender whose lane entry differs from the record in the inbox.
func TestAuditComparesLaneAndInbox(t *testing.T) {
	v := newLocalFixture(t)
	boss := v.agent(t, "boss")
	p := v.prepare(t, boss, "fixer")
	logged := p.Record
	logged.Payload, logged.Task = p.Commit.OID, "another"
	entry := enginetest.SignCommit(t, boss.Engine.Author.Signer, &record.Commit{Tree: gittest.Objects().EmptyTree(), Record: &logged})
	namespace := boss.home.Namespace()
	require.NoError(t, boss.home.Apply(t.Context(), refs.Transaction{
		Objects: append(p.Objects, p.Commit, entry, refs.NewObject(gittest.Objects(), "tree", nil)),
		Edits: []refs.Edit{
			{Ref: namespace.Inbox("fixer", p.Record.ID), New: p.Commit.OID}, {Ref: namespace.Lane(p.Record.ID), New: entry.OID},
		},
	}))
	var verdicts, findings []fault.Reason
	require.NoError(t, audit.New(boss.Workspace).Run(t.Context(), nil, audit.Visitor{
		Entry: func(_ lifecycle.Home, e *lifecycle.Entry) error {
			if f := fault.As(e.Dispute); assert.NotNil(t, f) {
				verdicts = append(verdicts, f.Reason)
			}
			return nil
		},
		Finding: func(_ lifecycle.Home, f audit.Finding) error { findings = append(findings, f.Reason); return nil },
	}))
	assert.Equal(t, []fault.Reason{"disputed"}, verdicts)
	assert.Equal(t, []fault.Reason{"disputed"}, findings)
}
