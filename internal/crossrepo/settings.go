package crossrepo

import (
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

const aborting = "a hook reference-transaction at %s must let refs/handoffs/ in"

// serverSettings maps words of a server's refusal to its setting. The words are matched in lower
// case, and the first match is taken.
var serverSettings = []struct{ words, setting string }{
	{"gh013", "GitHub: a ruleset of %s forbids it; exempt refs/handoffs/** from its targets"},
	{"gh006", "GitHub: a protection of %s forbids it; it must not cover refs/handoffs/**"},
	{"prohibited by gerrit", "Gerrit: the project of %s must grant Create, Push, Force Push and Delete on refs/handoffs/*"},
	{"denied by", "gitolite: the rules of %s need RW+ on refs/handoffs/ and refs/notes/ for whoever works with handoffs"},
	{"gitlab:", "GitLab: who pushes to %s needs the role Developer, and its push rules must let refs/handoffs/ in"},
	{"is archived", "%s is archived, and takes no push until its owner opens it again"},
	{"was archived", "%s is archived, and takes no push until its owner opens it again"},
	{"mirror repository", "%s is a copy that its server keeps of another repository, and takes no push: handoffs belong in that repository"},
	{"to protected branch", "a protection of branches at %s covers refs/handoffs, and must not"},
	{"is protected from", "a protection of branches at %s covers refs/handoffs, and must not"},
	{"permission denied for writing", "Gitea: who pushes to %s needs write access to its code"},
	{"sufficient authorization", "Gogs: who pushes to %s needs write access to its code"},
	{"not authorized to do this", "soft-serve: who pushes to %s needs the access read-write there (repo collab add)"},
	{"key permission denied", "Gogs: a deploy key for %s may only read; the key of an account with write access may push"},
	{hiddenRef, "at %s, receive.hideRefs or transfer.hideRefs of git names refs/handoffs, and must not"},
	{"deletion prohibited", "at %s, receive.denyDeletes of git forbids it"},
	{"denying non-fast-forward", "at %s, receive.denyNonFastForwards of git forbids it, which git init --shared sets"},
	{"aborted by hook", aborting},
	{"aborted by the reference-transaction hook", aborting}, // words of git since 2.54
	{"unexpected disconnect while reading sideband", "git at %s ended during the push: the log there says why, such as a hook reference-transaction that must let refs/handoffs/ in"},
	{forbidden, "githandoff reaches %s only by file, git, http, https or ssh, and only if protocol.allow of git, GIT_ALLOW_PROTOCOL and GIT_PROTOCOL_FROM_USER, which git submodule sets, let it"},
	{"does not support push options", "%s takes no push options (receive.advertisePushOptions of git), and push.pushOption here sends some with every push"},
	{"must be signed", "a hook at %s wants signed pushes, which githandoff does not make; it must leave refs/handoffs/ out"},
	{tooLarge, "%s bounds the size of a push (receive.maxInputSize of git)"},
	{"too large", "%s bounds the size of a push"},
	{"http 413", "%s bounds the size of a request (client_max_body_size of nginx, LimitRequestBody of Apache, server.max-request-size of lighttpd)"},
	{"git-http-push failed", "%s is served as plain files: its web server must run git http-backend"},
	{"transport does not support", "%s can only be fetched from, such as a bundle: handoffs need a repository that takes pushes"},
	{"terminal prompts disabled", "git has no password or token for %s: a credential helper must give it one that may push"},
	{"authentication failed", "%s refuses the password or token that git has: it must be valid, and for an account that may push"},
	{"marked as read only", "the deploy key for %s may only read; it needs write access"},
	{"deploy key", "the deploy key for %s may only read; it needs write access"},
	{"is not authorized to", "Gitea: the account of the ssh key that git has for %s needs write access to its code"},
	{"permission denied (publickey", "ssh has no key that %s knows: an account that may push there must have it"},
	{"returned error: 403", "%s takes no push from this account or token (git-http-backend: http.receivepack)"},
	{inTheWay, "a ref at %s stands in the way of refs/handoffs: it must go, or the handoffs must be kept below another prefix"},
	{"replace depth too high", "a ref below refs/replace at %s replaces an object by itself, so that git takes no push there: its administrator removes it with git update-ref -d"},
	{"missing necessary objects", lostThere},
	{"possible repository corruption", lostThere},
	{"upload-pack: not our ref", lostThere}, // the hub has just listed the ref
	{"unpacker error", fullThere},
	{"couldn't write '", fullThere}, // the hub could create the lock file and not write it
	{"unable to migrate objects to permanent storage", fullThere},
	{"transaction failure: i/o error", fullThere}, // words for the reftable format
}

// settingFor returns the hint naming the hub's setting behind a refused push, chosen by its
// message.
func (a *Alias) settingFor(said string, deletion bool) fault.Hint {
	must := fault.Fact("the settings or hooks of %s must let refs/handoffs/ in", a.Name)
	if deletion {
		must = fault.Fact("the settings or hooks of %s must let refs below refs/handoffs/ be deleted: no handoff can end there", a.Name)
	}
	return a.settingOr(said, a.renamed(must))
}

// settingOr is like settingFor with another hint for words that are not known.
func (a *Alias) settingOr(said string, other fault.Hint) fault.Hint {
	if setting := settingOf(said); setting != "" {
		return a.renamed(fault.Fact(setting, a.Name))
	}
	return other
}

// settingOf returns the setting that the words of a server are about; "" if they are not known. A hook
// that declined a ref says what it likes, such as "invalid value for 'title'".
func settingOf(said string) string {
	if gitexec.NamesSetting(said) && !strings.Contains(said, "declined") {
		return badSetting
	}
	said = strings.ToLower(said)
	for _, s := range serverSettings {
		if strings.Contains(said, s.words) {
			return s.setting
		}
	}
	return ""
}

const fullThere = "the disk of %s may be full, or read-only"

// badSetting is about a value for which git ends, here or at a hub at a path or behind ssh.
const badSetting = "git does not take the value of that setting: git config --list --show-origin --name-only names the files of the settings here; %s has its own"

// errBadSetting is returned for a push for which a git, here or at the hub, did not start.
func (a *Alias) errBadSetting(said string) error {
	return fault.New(fault.Unavailable, fault.GitRefused, "git cannot push to %s: %s", a.Name, said).WithHints(fault.Fact(badSetting, a.Name))
}

// lostThere is about a hub with a broken repository, which says so to somebody who reads as well.
const lostThere = "a ref of %s leads to an object that was lost there: git fsck names it there, and a clone may still have it"

// forbidden is how git begins its refusal of a transport.
const forbidden = "transport '"

// noAccount are words of refusals to somebody who may not even read.
var noAccount = []string{"terminal prompts disabled", "authentication failed", "not authorized to do this", "is not authorized to", "permission denied (publickey"}

// noRepository are words about a repository that does not exist, or is hidden from this account. A
// server does not say which. The first are git's own about status 404.
var noRepository = []string{"' not found", "repository not found", "cannot find repository"}

// readingHints returns the hints for a hub that could not be read.
func (a *Alias) readingHints(said string) []fault.Hint {
	among := func(words string) bool { return strings.Contains(strings.ToLower(said), words) }
	more := fault.Run("git", "ls-remote", "--", a.hinted()).Because("says more")
	switch {
	case among(forbidden), slices.ContainsFunc(noAccount, among), slices.Contains([]string{lostThere, badSetting}, settingOf(said)):
		return []fault.Hint{a.settingOr(said, more)}
	case slices.ContainsFunc(noRepository, among):
		return []fault.Hint{
			fault.Fact("servers say this of a repository that is gone, and of one that this account may not read"),
			fault.See("repo add").Because("--id gives it its new URL, if it was renamed or moved"),
		}
	}
	return []fault.Hint{more}
}

// renamed returns a hint about the refs of handoffs at a hub, with their names there.
func (a *Alias) renamed(hint fault.Hint) fault.Hint {
	hint.Why = strings.ReplaceAll(hint.Why, UsualPrefix, a.Below())
	return hint
}
