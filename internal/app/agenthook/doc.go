// Package agenthook answers the hooks of coding agents: it tells a session which handoffs wait
// and which are held, refuses tool calls outside a held token, and reminds the agent of a handoff
// still held at the end of a turn.
//
// It prints nothing unless there is news: every answer becomes part of the model's input, and is
// paid for. Each fact is told once per session; a stamp in the worktree's git directory remembers
// the facts told. No hub is asked.
package agenthook
