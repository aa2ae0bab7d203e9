// Package agenthook answers the hooks of coding agents: it tells a session what waits
// and what is held, refuses tool calls outside of a held token, and reminds of a
// handoff that is still held at the end of a turn.
//
// It is silent unless there is something to say: every answer becomes part of what the
// model reads, and is paid for. Each fact is told once a session; a stamp in the
// worktree's git directory remembers what was told. No hub is asked.
package agenthook
