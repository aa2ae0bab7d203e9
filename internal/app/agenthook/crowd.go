package agenthook

import (
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/private"
)

// maxCrowd bounds the ids remembered by a crowd, so its file can be read whole. In an inbox with
// more, one more is no news.
const maxCrowd = 1 << 15

// lineLen is the length of a line of a crowd: an id and a line feed.
const lineLen = handoff.IDLen + 1

// crowd is a set of many ids: sorted lines of one length, which can be searched as read.
type crowd string

func crowdOf(ids []handoff.ID) crowd {
	var b strings.Builder
	b.Grow(lineLen * min(len(ids), maxCrowd))
	for _, id := range ids[max(0, len(ids)-maxCrowd):] {
		b.WriteString(string(id) + "\n")
	}
	return crowd(b.String())
}

// loadCrowd reads the file written by a stamp beside itself. A missing or unreadable one gives an
// empty crowd.
func loadCrowd(path string) crowd {
	b, err := private.ReadState(path)
	if err != nil || len(b)%lineLen != 0 {
		return ""
	}
	return crowd(b)
}

// lacks lists the ids missing in c. ids are sorted.
func (c crowd) lacks(ids []handoff.ID) []handoff.ID {
	if c == "" {
		return slices.Clone(ids)
	}
	var rest []handoff.ID
	at := 0 // entries of c before at are smaller than the next id
	for _, id := range ids {
		for at < len(c) && string(c[at:at+handoff.IDLen]) < string(id) {
			at += lineLen
		}
		if at == len(c) || string(c[at:at+handoff.IDLen]) != string(id) {
			rest = append(rest, id)
		}
	}
	return rest
}
