package team

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// Claimed returns the agent named in a key; not ok without a name in the form of githandoff's keys.
// It is an unproved claim by the maker of the key.
func Claimed(public sign.PublicKey) (agent string, ok bool) {
	agent, _, _ = strings.Cut(public.UserID(), " ")
	return agent, handoff.CheckAgent(agent) == nil && sign.UserID(agent) == public.UserID()
}

// Says tells whose a key claims to be.
func Says(public sign.PublicKey) string {
	if public.UserID() == "" {
		return "it does not say whose"
	}
	return "it claims to belong to " + untrusted.Owner(public.UserID())
}

// PinHint returns the command to pin a published key, once its alleged owner has been asked.
func PinHint(public sign.PublicKey) fault.Hint {
	name, ok := Claimed(public)
	if !ok {
		return fault.See("trust add").Because("pins %s, once its owner has confirmed that fingerprint", public.KID())
	}
	return fault.Run("githandoff", "trust", "add", public.KID(), "--agent", name).
		Because("only after the owner of %s has confirmed that fingerprint", name)
}
