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
