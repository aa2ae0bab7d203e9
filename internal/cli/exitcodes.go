package cli

import "githandoff/internal/fault"

// exitCodes is the table that "help exit-codes" prints.
func exitCodes() []exitCode {
	return []exitCode{
		{0, "done"},
		{fault.Other, "any other failure"},
		{fault.Usage, "usage"},
		{fault.NotFound, "not found; nothing pending"},
		{fault.Denied, "signature, trust or token refused"},
		{fault.Conflict, "conflict: held by another, not the holder, lost the race"},
		{fault.Invalid, "invalid record: malformed, non-canonical, wrong version, over a limit"},
		{fault.Policy, "policy: scope, secret, transcript, capability, skill"},
		{fault.Unavailable, "git or a remote unavailable or refusing; what was to be sent is kept"},
		{fault.Bug, "a bug in githandoff"},
		{fault.Interrupted, "interrupted"},
	}
}

type exitCode struct {
	code    fault.Code
	meaning string
}

// exitsOf lists the exit codes of a command, by its words after "githandoff",
// besides those that every command has.
func exitsOf(words string) []fault.Code {
	const (
		missing, denied, conflict = fault.NotFound, fault.Denied, fault.Conflict
		invalid, policy, remote   = fault.Invalid, fault.Policy, fault.Unavailable
	)
	switch words {
	case "", "completion", "help", "version", "hook agent":
		return nil
	case "doctor":
		return []fault.Code{missing, denied}
	case "key", "trust", "repo", "checkpoint", "hook", "obo", "skills": // their own help is all they print
		return nil
	case "validate", "convert":
		return []fault.Code{missing, denied, invalid, policy}
	case "key generate", "key show", "key export", "trust add", "trust remove", "trust review", "init":
		return []fault.Code{missing, denied, invalid, remote}
	case "invite", "join":
		return []fault.Code{missing, denied, conflict, invalid, remote}
	case "trust list":
		return []fault.Code{denied, invalid, remote}
	case "trust export":
		return []fault.Code{missing, denied, invalid, policy, remote}
	case "checkpoint restore":
		return []fault.Code{missing, denied, conflict, remote}
	case "setup":
		return []fault.Code{missing, conflict, invalid, remote}
	case "checkpoint list", "hook install", "hook uninstall", "hook status":
		return []fault.Code{remote}
	case "hold":
		return []fault.Code{missing, denied, conflict, remote}
	case "history":
		return []fault.Code{missing, denied, conflict, remote}
	case "obo show":
		return []fault.Code{missing, denied, conflict, invalid, remote}
	case "hook run":
		return []fault.Code{denied, policy, remote}
	case "obo check":
		return []fault.Code{policy, remote}
	case "repo add", "repo list", "report", "board":
		return []fault.Code{denied, remote}
	case "repo remove":
		return []fault.Code{missing, remote}
	}
	return []fault.Code{missing, denied, conflict, invalid, policy, remote}
}
