package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
)

func TestNewKeepsTheCause(t *testing.T) {
	err := fault.New(fault.Unavailable, "disk_full", "write %s: %w", "x", fs.ErrPermission)
	assert.Equal(t, "write x: permission denied", err.Error())
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.NoError(t, fault.New(fault.Usage, "usage", "no cause").Unwrap())
}

// Whoever wraps a cause that has a hint gives that hint, unless it has better ones.
func TestNewTakesTheHintOfTheCause(t *testing.T) {
	cause := &fault.Cause{Err: errors.New("unknown"), Hint: fault.Fact("upgrade")}
	err := fault.New(fault.Denied, "malformed", "entry: %w", fmt.Errorf("trailer %q is %w", "x", cause))
	assert.Equal(t, `entry: trailer "x" is unknown`, err.Error())
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, "# upgrade", err.Advice())
	assert.Equal(t, "# upgrade", fault.New(fault.Denied, "malformed", "again: %w", err).Advice())
	assert.Equal(t, "# look", err.WithHints(fault.Fact("look")).Advice())
}

func TestCodeOf(t *testing.T) {
	inner := fault.New(fault.Conflict, "claimed", "held by fixer")
	for _, tc := range []struct {
		name   string
		err    error
		code   fault.Code
		reason string
	}{
		{"nil", nil, 0, ""},
		{"plain", errors.New("x"), fault.Other, ""},
		{"refusal", inner, fault.Conflict, "claimed"},
		{"wrapped", fmt.Errorf("ack: %w", inner), fault.Conflict, "claimed"},
		{"joined", errors.Join(errors.New("x"), inner), fault.Conflict, "claimed"},
		{"outermost counts", fault.New(fault.Denied, "disputed", "because %w", inner), fault.Denied, "disputed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.code, fault.CodeOf(tc.err))
			assert.Equal(t, tc.reason != "", fault.Is(tc.err, fault.Reason(tc.reason)))
			assert.False(t, fault.Is(tc.err, "other"))
			assert.Equal(t, tc.reason == "", fault.As(tc.err) == nil)
		})
	}
}

// Scripts rely on these numbers.
func TestCodes(t *testing.T) {
	assert.Equal(t, []fault.Code{1, 2, 3, 4, 5, 6, 7, 8, 70, 130}, []fault.Code{
		fault.Other, fault.Usage, fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid,
		fault.Policy, fault.Unavailable, fault.Bug, fault.Interrupted,
	})
}
