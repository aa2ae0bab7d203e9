package team

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
)

// Claimed is the agent that a key says it belongs to; not ok if it names none in the way of
// the keys that githandoff makes. It is a claim of whoever made the key.
func Claimed(public sign.PublicKey) (agent string, ok bool) {
	agent, _, _ = strings.Cut(public.UserID(), " ")
	return agent, handoff.CheckAgent(agent) == nil && sign.UserID(agent) == public.UserID()
}

// PinHint is the command that pins a published key, once the owner that the key claims has
// been asked.
func PinHint(public sign.PublicKey) fault.Hint {
	name, ok := Claimed(public)
	if !ok {
		return fault.See("trust add").Because("pins %s, once its owner has confirmed that fingerprint", public.KID())
	}
	return fault.Run("githandoff", "trust", "add", public.KID(), "--agent", name).
		Because("only after the owner of %s has confirmed that fingerprint", name)
}
