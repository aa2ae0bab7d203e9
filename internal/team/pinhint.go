package team

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
)

// PinHint is the command that pins a published key. The user id is a claim of whoever made
// the key, so its owner has to be asked first.
func PinHint(public sign.PublicKey) fault.Hint {
	name, _, _ := strings.Cut(public.UserID(), " ")
	if handoff.CheckAgent(name) != nil || sign.UserID(name) != public.UserID() {
		return fault.See("trust add").Because("pins %s, once its owner has confirmed that fingerprint", public.KID())
	}
	return fault.Run("githandoff", "trust", "add", public.KID(), "--agent", name).
		Because("only after the owner of %s has confirmed that fingerprint", name)
}
