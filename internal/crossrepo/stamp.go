package crossrepo

import (
	"os"
	"path"
	"time"

	"githandoff/internal/private"
)

// stampOf is the file whose time says when this clone read the hub last.
func (h *remote) stampOf() string { return h.Repo.Own("read/" + path.Base(string(h.Namespace()))) }

// stamp notes that the hub was read. Where that cannot be noted nothing is lost but
// the time.
func (h *remote) stamp() {
	file := h.stampOf()
	now := time.Now()
	if os.Chtimes(file, now, now) == nil {
		return
	}
	if private.MakeDir(path.Dir(file)) == nil {
		_ = os.WriteFile(file, nil, 0o600)
	}
}

// LastRead is when this clone read the hub last; the zero time if it never did.
func (h *remote) LastRead() time.Time {
	info, err := os.Stat(h.stampOf())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
