package crossrepo

import (
	"slices"
	"strings"

	"githandoff/internal/fault"
)

// guardRefusal reads the refusal of a hub's guard, "githandoff: <ref>: <reason>: <text>";
// nil if there is none. The words are the hub's: they only choose between two exit codes,
// and are escaped. The caller finds out itself whether a ref has moved.
func (h *remote) guardRefusal(cause error) *fault.Error {
	for _, line := range remoteLines(cause) {
		part := strings.SplitN(line, ": ", 4)
		if len(part) != 4 || part[0] != "githandoff" || !strings.HasPrefix(part[1], "refs/") {
			continue
		}
		code := fault.Denied
		switch reason := fault.Reason(part[2]); {
		case slices.Contains(fault.PolicyDenials(), reason):
			code = fault.Policy
		case !slices.Contains(fault.Denials(), reason):
			continue
		}
		return fault.New(code, fault.Reason(part[2]), "%s refuses %s: %s", h.Alias.Name, escaped(part[1]), escaped(part[3])).
			WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("fetches the current state of %s", h.Alias.Name))
	}
	return nil
}

// escaped is quote without the quotes, for a line of its own.
func escaped(s string) string {
	q := Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
