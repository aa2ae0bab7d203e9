// Package agentdoctor looks for problems of coding agents with githandoff in a worktree:
// duplicate hooks, hooks skipped by a client, a shell which does not find the program, and
// failures recorded by hooks.
//
// Only clients set up here are checked. A client is set up if one of its files names githandoff's
// hooks: for this user, in this repository, or by a plugin. Nothing is written. If Codex CLI is
// set up, one process is started: a login shell.
package agentdoctor
