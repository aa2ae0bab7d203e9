package crossrepo

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// A guard's refusal is told apart from the output of other hooks, and is at most one line.
func TestGuardRefusal(t *testing.T) {
	h := NewHub(&Alias{Name: "origin"}, &refs.Repo{}, nil)
	for stderr, want := range map[string]*fault.Error{
		"remote: githandoff: refs/handoffs/log/00: rollback: a lane is never deleted        ": {
			Code: fault.Denied, Reason: "rollback", Message: "origin refuses refs/handoffs/log/00: a lane is never deleted",
		},
		"remote: another hook\nremote: githandoff: refs/heads/x: scope: \"repo.push:refs/heads/x\" is not within: it": {
			Code: fault.Policy, Reason: "scope", Message: `origin refuses refs/heads/x: "repo.push:refs/heads/x" is not within: it`,
		},
		"remote: githandoff: refs/heads/x: lost: \x1b[2Jgone\u202e": {
			Code: fault.Denied, Reason: "lost", Message: `origin refuses refs/heads/x: \x1b[2Jgone\u202e`,
		},
		"remote: githandoff: refs/handoffs/work/fixer/ho_1: invalid_path: a home has no such ref": {
			Code: fault.Denied, Reason: "invalid_path", Message: "origin refuses refs/handoffs/work/fixer/ho_1: a home has no such ref; its guard may be of an earlier version, which whoever runs the hub updates",
		},
		"remote: githandoff: refs/handoffs/invites/0: malformed: the invitation at the hub is malformed: invite: unknown member": {
			Code: fault.Denied, Reason: "malformed", Message: "origin refuses refs/handoffs/invites/0: the invitation at the hub is malformed: invite: unknown member; its guard may be of an earlier version, which whoever runs the hub updates",
		},
		"remote: githandoff: refs/handoffs/invites/0: invalid_path: this hub keeps handoffs below refs/heads/handoffs": {
			Code: fault.Denied, Reason: "invalid_path", Message: "origin refuses refs/handoffs/invites/0: this hub keeps handoffs below refs/heads/handoffs",
		},
		"remote: githandoff: refs/handoffs/inbox/fixer/ho_1: invalid_path: a home has no such ref": {
			Code: fault.Denied, Reason: "invalid_path", Message: "origin refuses refs/handoffs/inbox/fixer/ho_1: a home has no such ref",
		},
		"remote: githandoff: refs/handoffs/inbox/fixer/ho_1: unknown_schema: schema: \"githandoff/2\", this version reads \"githandoff/1\"": {
			Code: fault.Denied, Reason: "malformed", Message: `origin refuses refs/handoffs/inbox/fixer/ho_1: schema: "githandoff/2", this version reads "githandoff/1"; its guard may be of an earlier version, which whoever runs the hub updates`,
		},
		"remote: githandoff: refs/handoffs/log/00: malformed_object: lane entry 1: trailer \"Handoff-Color\" is unknown to this version": {
			Code: fault.Denied, Reason: "malformed_object", Message: `origin refuses refs/handoffs/log/00: lane entry 1: trailer "Handoff-Color" is unknown to this version; its guard may be of an earlier version, which whoever runs the hub updates`,
		},
		"remote: githandoff: refs/handoffs/log/00: malformed_object: lane entry 1: commit without a message": {
			Code: fault.Denied, Reason: "malformed_object", Message: "origin refuses refs/handoffs/log/00: lane entry 1: commit without a message",
		},
		"remote: githandoff: refs/heads/x: stale: it has moved meanwhile": nil,
		"remote: githandoff: refs/heads/x: whatever: no word of a guard":  nil,
		"remote: githandoff: not found, so this push cannot be checked":   nil,
		"githandoff: refs/heads/x: lost: not said by the hub":             nil,
		"": nil,
	} {
		got := h.guardRefusal(&gitexec.Error{Program: "git push", Code: 1, Stderr: stderr})
		if want == nil {
			assert.Nil(t, got, "%q", stderr)
			continue
		}
		if assert.NotNil(t, got, "%q", stderr) {
			assert.Equal(t, [3]any{want.Code, want.Reason, want.Message}, [3]any{got.Code, got.Reason, got.Message}, "%q", stderr)
		}
	}
	for text, want := range map[string]string{
		"refs/handoffs/log/00: invalid_path: this hub keeps handoffs below refs/heads/handoffs": "repo add origin  --prefix refs/heads/handoffs",
		"refs/handoffs/log/00: invalid_path: this hub keeps handoffs below refs/tags/x":         "sync origin", // no valid prefix
		"refs/handoffs/log/00: lost: this hub keeps handoffs below refs/heads/handoffs":         "sync origin",
	} {
		got := h.guardRefusal(&gitexec.Error{Program: "git push", Code: 1, Stderr: "remote: githandoff: " + text})
		assert.Equal(t, want, strings.Join(got.Hints[0].Run[1:], " "), text)
	}
	assert.Nil(t, h.guardRefusal(errors.New("no git at all")))
	assert.Nil(t, h.guardRefusal(nil))
}
