package crossrepo

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"

	"githandoff/internal/fault"
	"githandoff/internal/private"
)

// known caches the findings about a hub for the next command. The file may be deleted at
// any time.
type known struct {
	KeepsRefs string `json:"keepsRefs,omitempty"` // why the hub deletes no ref, in its own words
	Guarded   bool   `json:"guarded,omitempty"`   // a guard answered
	Whole     bool   `json:"whole,omitempty"`     // this clone has read the whole log
	Moved     bool   `json:"moved,omitempty"`     // others had moved the lane of the last offer
	Contested bool   `json:"contested,omitempty"` // the last claim without a look came too late
	Narrow    int64  `json:"narrow,omitempty"`    // when the hub last showed more than a log of handoffs can be, in Unix seconds
}

func knownFile(h *remote) string {
	return h.Repo.Own("hubs/" + path.Base(string(h.Namespace())) + ".json")
}

func readKnown(h *remote) (k known) {
	raw, err := private.ReadState(knownFile(h))
	if err != nil || json.Unmarshal(raw, &k) != nil {
		return known{}
	}
	return k
}

// writeKnown writes the findings. If it cannot, the next command looks again.
func writeKnown(h *remote, k known) {
	file := knownFile(h)
	if k == (known{}) {
		if err := os.Remove(file); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	raw, err := json.Marshal(k)
	if err == nil {
		_ = private.WriteFile(file, raw)
	}
}

// KeepsRefs is the refusal of a hub that deletes no ref, as this clone has seen: whatever
// is sent there, or taken from there, could never end. Nil where nothing is known.
func KeepsRefs(h *Hub) error {
	k := readKnown(&h.remote)
	if k.KeepsRefs == "" {
		return nil
	}
	return fault.New(fault.Unavailable, fault.HubKeepsRefs, "%s refuses to delete refs below refs/handoffs/, so no handoff can end there: %s", h.Alias.Name, Quote(k.KeepsRefs)).
		WithHints(settingFor(&h.remote, k.KeepsRefs, true), fault.Run("githandoff", "doctor", h.Alias.Name).Because("tests it again after the fix"))
}
