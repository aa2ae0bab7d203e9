// Package agents speaks with coding agents: Claude Code, Codex CLI, Gemini CLI,
// OpenCode, Copilot CLI and Cursor. Each of them starts a program at certain events
// of a session, its hooks, writes JSON to its standard input, and reads JSON or
// nothing from its standard output. They differ in the names of events and members
// and in the form of an answer.
//
//   - [Read] turns a client's input into a [Call], which has one form for all.
//   - [Call.Context], [Call.Deny], [Call.Block] and [Call.Note] spell an answer in
//     the form that the asking client takes. If it is nil, nothing is printed.
//   - [Call.Scopes] names the authority a tool call needs.
//   - [Announcement], [Arrival] and [Reminder] are the sentences for an agent.
//
// The sentences are facts, since clients and models distrust orders from a hook. They hold
// nothing a sender chose freely: only short ids, names of agents this clone trusts, and task
// keys in the form of trackers.
//
// The package starts no process and reads no repository.
package agents
