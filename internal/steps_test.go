package internal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
)

// The table of steps in docs/format.md is the one of the state machine.
//
//	make docs
func TestStepsPage(t *testing.T) {
	const page, begin, end = "../docs/format.md", "<!-- steps: written by \"make docs\" -->\n", "<!-- end of steps -->\n"
	var table strings.Builder
	table.WriteString("| event | who | inbox ref |\n|---|---|---|\n")
	var events []record.Event
	for _, s := range lifecycle.Steps() {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", s.Event, mayTake(s), s.Inbox)
		events = append(events, s.Event)
	}
	assert.Equal(t, []record.Event{
		record.Offered, record.Routed, record.Claimed, record.Progressed, record.Released, record.Acknowledged,
		record.Failed, record.Rerouted, record.Revoked, record.Expired, record.Joined,
	}, events, "each event is a row")
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + table.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

// mayTake returns who may take a step.
func mayTake(s lifecycle.Step) string {
	var who []string
	for _, r := range s.Rights {
		who = append(who, strings.TrimSpace(string(r.Who)+" "+string(r.When)))
	}
	if s.Note != "" {
		who = append(who, s.Note)
	}
	return strings.Join(who, "; ")
}
