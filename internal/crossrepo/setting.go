package crossrepo

import (
	"strings"

	"githandoff/internal/fault"
)

// settings name, by words of a server's refusal, the setting of that server. The words are
// matched in lower case, and the first that fits is taken.
var settings = []struct{ words, setting string }{
	{"gh013", "GitHub: a ruleset of %s forbids it; exempt refs/handoffs/** from its targets"},
	{"gh006", "GitHub: a protection of %s forbids it; it must not cover refs/handoffs/**"},
	{"prohibited by gerrit", "Gerrit: the project of %s must grant Create, Push, Force Push and Delete on refs/handoffs/*"},
	{"denied by", "gitolite: the rules of %s need RW+ on refs/handoffs/ and refs/notes/ for whoever works with handoffs"},
	{"gitlab:", "GitLab: who pushes to %s needs the role Developer, and its push rules must let refs/handoffs/ in"},
	{"permission denied for writing", "Gitea: who pushes to %s needs write access to its code"},
	{"hidden ref", "at %s, receive.hideRefs or transfer.hideRefs of git names refs/handoffs, and must not"},
	{"deletion prohibited", "at %s, receive.denyDeletes of git forbids it"},
	{"must be signed", "a hook at %s wants signed pushes, which githandoff does not make; it must leave refs/handoffs/ out"},
	{"maximum allowed size", "%s bounds the size of a push (receive.maxInputSize of git)"},
	{"too large", "%s bounds the size of a push"},
	{"returned error: 403", "%s takes no push from this account (git-http-backend: http.receivepack)"},
	{"unpacker error", "the disk of %s may be full, or read-only"},
}

// settingFor is the hint that names the setting of a hub that refused a push, chosen by its
// message.
func settingFor(h *remote, said string, deletion bool) fault.Hint {
	said = strings.ToLower(said)
	for _, s := range settings {
		if strings.Contains(said, s.words) {
			return fault.Fact(s.setting, h.Alias.Name)
		}
	}
	if deletion {
		return fault.Fact("the settings or hooks of %s must let refs below refs/handoffs/ be deleted: no handoff can end there", h.Alias.Name)
	}
	return fault.Fact("the settings or hooks of %s must let refs/handoffs/ in", h.Alias.Name)
}
