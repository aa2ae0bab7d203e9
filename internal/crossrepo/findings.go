package crossrepo

import (
	"encoding/json"
	"sync/atomic"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/private"
)

// findings keep for the next command what this clone has found out about a hub. The file may be deleted
// at any time.
type findings struct {
	KeepsRefs string `json:"keepsRefs,omitempty"` // message of a hub that deletes no refs; else empty
	Refused   string `json:"refused,omitempty"`   // message with which the hub refused the last push for good
	Unshown   string `json:"unshown,omitempty"`   // ref and value that the hub took and has not shown yet
	Shows     bool   `json:"shows,omitempty"`     // the hub has shown a ref of handoffs
	Guarded   bool   `json:"guarded,omitempty"`   // a guard has answered
	Whole     bool   `json:"whole,omitempty"`     // this clone has read the hub's whole log
	Moved     bool   `json:"moved,omitempty"`     // the lane of the last offer had moved at the hub
	Contested bool   `json:"contested,omitempty"` // the last claim without a fetch came too late
	Looked    int64  `json:"looked,omitempty"`    // Unix time when an agent of a crowd last fetched the whole inbox
	Narrow    int64  `json:"narrow,omitempty"`    // Unix time when the log last exceeded its bound; 0 for never
	Crowded   int64  `json:"crowded,omitempty"`   // the same of the published keys
}

// notebook is the file with the findings about one hub.
type notebook struct {
	file  string
	known atomic.Pointer[findings] // nil until the file is read
}

// findings reads the file, once per command.
func (b *notebook) findings() findings {
	if k := b.known.Load(); k != nil {
		return *k
	}
	k := &findings{}
	raw, err := private.ReadState(b.file)
	if err != nil || json.Unmarshal(raw, k) != nil {
		*k = findings{}
	}
	b.known.Store(k)
	return *k
}

// forget lets the file be read again.
func (b *notebook) forget() { b.known.Store(nil) }

// note changes the findings. Another command of this clone may have changed the file since
// it was read, so it is read again before it is written. If it cannot be written, the next
// command looks again.
func (b *notebook) note(change func(*findings)) {
	k := b.findings()
	if change(&k); k == b.findings() {
		return
	}
	b.known.Store(nil)
	k = b.findings()
	change(&k)
	b.known.Store(&k)
	if k == (findings{}) && durable.Remove(b.file) == nil {
		return
	}
	raw, err := json.Marshal(k)
	if err == nil {
		_ = private.WriteFile(b.file, raw)
	}
}

// CheckDeletes returns the refusal of the hub if this clone knows it to delete no ref: whatever is sent
// there, or taken from there, could never end. It is nil if nothing is known.
func (h *remote) CheckDeletes() error {
	k := h.book.findings()
	if k.KeepsRefs == "" {
		return nil
	}
	return fault.New(fault.Unavailable, fault.HubKeepsRefs, "%s refuses to delete refs below %s, so no handoff can end there: %s", h.Alias.Name, h.Alias.Root(), Quote(k.KeepsRefs)).
		WithHints(h.Alias.settingFor(k.KeepsRefs, true), fault.Run("githandoff", "doctor", h.Alias.Name).Because("tests it again after the fix"))
}

// LastRefusal returns the refusal of the last step sent by this clone to the hub, if the hub refused
// it for a lasting reason.
func (h *remote) LastRefusal() error {
	k := h.book.findings()
	if k.Refused == "" {
		return nil
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s refused the last push of this clone: %s", h.Alias.Name, Quote(k.Refused)).
		WithHints(h.Alias.settingFor(k.Refused, false), fault.Run("githandoff", "doctor", h.Alias.Name).Because("tests it again after the fix"))
}

// forgetRefusals drops refusals after an accepted push. deleted says whether it deleted a ref.
func (b *notebook) forgetRefusals(deleted bool) {
	b.note(func(k *findings) {
		if k.Refused = ""; deleted {
			k.KeepsRefs = ""
		}
	})
}
