// Package agents speaks with coding agents: Claude Code, Codex CLI, Gemini CLI,
// OpenCode, Copilot CLI and Cursor. Each of them starts a program at certain events
// of a session, its hooks, writes JSON to its standard input, and reads JSON or
// nothing from its standard output. They differ in the names of events and members
// and in the form of an answer.
//
//   - [Read] turns what a client sends into a [Call], which has one form for all.
//   - [Call.Context], [Call.Deny], [Call.Block] and [Call.Note] spell an answer as
//     the client that asked takes it. Nil is no answer: nothing is printed.
//   - [Call.Scopes] names the authority that a tool call needs.
//   - [Announcement], [Arrival] and [Reminder] are the sentences that an agent reads.
//
// The sentences are facts, since clients and models distrust orders that come from
// a hook. They hold nothing that a sender chose freely: short ids, names of agents
// that this clone trusts, and task keys in the form that trackers use.
//
// The package starts no process and reads no repository.
package agents
