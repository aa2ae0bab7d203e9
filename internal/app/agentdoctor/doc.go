// Package agentdoctor looks for problems of coding agents with githandoff in a worktree:
// hooks that come twice, hooks that a client skips, a shell that does not find the program,
// and failures that hooks noted.
//
// Only clients that are set up here are looked at. A client is, if one of its files
// names githandoff's hooks: for this user, in this repository, or by a plugin. Nothing
// is written, and one process is started where Codex CLI is set up: a login shell.
package agentdoctor
