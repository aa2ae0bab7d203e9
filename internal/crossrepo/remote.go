package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sshshare"
)

// remote runs git fetch and git push against the repository of an alias.
type remote struct {
	Alias *Alias
	Repo  *refs.Repo // this repository, which keeps the copies

	refNames // names of refs in this clone and at the hub

	silent  atomic.Pointer[silence] // nil while the hub has answered every call of this command
	failed  atomic.Int32            // failed fetches of lost objects in this command
	sshOnce sync.Once               // for ssh; see SSHSharing
	ssh     sshshare.Sharing
	book    notebook                          // findings of this clone about the hub
	works   atomic.Pointer[map[string]string] // snapshots at the hub; see worksThere
}

// pushArgs begin every push.
var pushArgs = []string{"push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"}

// plainWords keep the escape sequences of color.ui=always out of the output of git and of the hub,
// which refusals quote.
var plainWords = []string{"-c", "color.ui=false", "-c", "color.remote=false", "-c", "color.advice=false"}

// lookTime bounds the look at a hub after a push that it did not answer.
const lookTime = 30 * time.Second

// silence is a call that a hub did not answer within its time.
type silence struct {
	err    error         // error of the call
	within time.Duration // time limit of the first such call in this command
	pushed bool          // whether the call was a push
}

// connect runs a git command talking to the hub. A hub that did not answer is not asked again in
// this command: the call fails with the error of the first one. Only a push without an answer is
// followed by a look, which tells whether the push arrived.
func (h *remote) connect(ctx context.Context, c gitexec.Cmd) ([]byte, error) {
	push, within := c.Finish, h.Repo.Runner.TimeFor(c)
	if s := h.silent.Load(); s != nil {
		if push || !s.pushed {
			return nil, s.err
		}
		c.Timeout, within = min(c.Timeout, lookTime), s.within
	}
	c.Args = slices.Concat(plainWords, c.Args)
	c.Env = append(c.Env, h.SSHSharing(ctx).Env...)
	out, err := h.Repo.Runner.Run(ctx, c)
	if gitexec.TimedOut(err) && ctx.Err() == nil { // otherwise the time of the whole command is over
		h.silent.Store(&silence{err, within, push})
	}
	return out, err
}

// Push makes the edits of copies at the hub, in one atomic push, each leased at its old value.
func (h *remote) Push(ctx context.Context, t refs.Transaction) (*pushReport, error) {
	named := make([]refs.Edit, len(t.Edits))
	for i, e := range t.Edits {
		named[i] = refs.Edit{Ref: h.RemoteName(e.Ref), Old: e.Old, New: e.New}
	}
	return pushNamed(ctx, h, refs.Transaction{Edits: named, Objects: t.Objects})
}

// pushNamed is like Push with the hub's names of refs. The caller has written the objects, but no
// ref leads to them yet, so a gc in this clone may remove them before git sends them. Then
// pushNamed writes them to a kept pack, and pushes again if the hub refused every ref.
func pushNamed(ctx context.Context, h *remote, t refs.Transaction) (*pushReport, error) {
	r, err := pushOnce(ctx, h, t.Edits)
	if err == nil || !h.Repo.Store.Lacks(t.Objects...) {
		return r, err
	}
	if kerr := h.Repo.Store.WriteKept(context.WithoutCancel(ctx), t.Objects); kerr != nil {
		return r, errors.Join(err, kerr)
	}
	if ctx.Err() != nil || len(r.lines) < len(t.Edits) || !r.refusedByHub() {
		return r, err
	}
	return pushOnce(ctx, h, t.Edits)
}

func pushOnce(ctx context.Context, h *remote, edits []refs.Edit) (*pushReport, error) {
	settings, target := untracked(h)
	args := slices.Concat(settings, pushArgs, []string{"--atomic"})
	for _, e := range edits {
		args = append(args, "--force-with-lease="+e.Ref+":"+e.Old)
	}
	args = append(args, "--", target)
	for _, e := range edits {
		args = append(args, e.New+":"+e.Ref)
	}
	out, err := h.connect(ctx, gitexec.Cmd{Args: args, Timeout: gitexec.RemoteTimeout, Finish: true})
	r := parseReport(out)
	r.said = strings.Join(remoteLines(err), "; ")
	if r.failedAfter(err, edits) {
		err = nil
	}
	return r, err
}

// untracked returns settings and a target for a push that leaves no remote-tracking refs. Where
// handoffs are branches git would make such refs, even if a refspec excludes them (git 2.39), and
// they would keep a payload after its end. git after 2.55 does so for a URL as well, if a remote
// has the same one. The target is a remote with the settings of the alias, but without its
// refspecs.
func untracked(h *remote) (settings []string, target string) {
	given := h.Alias.target
	if h.Alias.Prefix == "" {
		return nil, given
	}
	target = strings.ReplaceAll(h.Alias.Name, "=", "-") + "-handoffs" // git ends the name of a -c setting at "="
	// A remote with that name would get the push as well.
	for h.Repo.Config.Get("remote."+target+".url") != "" {
		target += "-"
	}
	if given != h.Alias.Name {
		return []string{"-c", "remote." + target + ".url=" + given}, target
	}
	section := "remote." + given + "."
	for _, key := range slices.Sorted(maps.Keys(h.Repo.Config)) {
		variable, ok := strings.CutPrefix(key, section)
		if !ok || variable == "fetch" || strings.Contains(variable, ".") {
			continue
		}
		for _, value := range h.Repo.Config[key] {
			settings = append(settings, "-c", "remote."+target+"."+variable+"="+value)
		}
	}
	return settings, target
}

// extends reports whether tip is was or one of its descendants. Everything extends "". A tip that
// is no commit, or is not here, extends nothing else. If a lost commit hides the answer, the error
// has the reason missing_object.
func (h *remote) extends(ctx context.Context, tip, was string) (bool, error) {
	if was == "" || tip == was {
		return true, nil
	}
	if tip == "" {
		return false, nil
	}
	_, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"merge-base", "--is-ancestor", was, tip}})
	switch failed, ok := errors.AsType[*gitexec.Error](err); {
	case err == nil:
		return true, nil
	case !ok || failed.Code != 1 && failed.Code != 128:
		return false, fmt.Errorf("compare two tips of a lane: %w", err)
	case failed.Code == 1 && !strings.Contains(failed.Stderr, "error:"): // unlike git 2.39 with an unreadable commit
		return false, nil
	}
	// merge-base walks from both ends: a commit that is lost before was hides nothing. A commit
	// is listed once its parents are read, so was may be listed as a parent only.
	log, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-list", "--parents", "--ignore-missing", tip}, MaxOutput: 1 << 30})
	switch {
	case slices.Contains(strings.Fields(string(log)), was):
		return true, nil
	case err == nil:
		return false, nil
	case gitexec.ExitCode(err) == 128:
		return false, refs.Missing("a commit before " + tip)
	}
	return false, fmt.Errorf("compare two tips of a lane: %w", err)
}

// RemoteLanes asks the hub where its lanes are, by their names there.
func (h *remote) RemoteLanes(ctx context.Context) (map[string]string, error) {
	return h.listed(ctx, gitexec.RemoteTimeout, h.RemoteName(h.Namespace().Lanes())+"*")
}

// listed asks the hub for the values of the refs whose names there match a pattern. No object is
// transferred.
func (h *remote) listed(ctx context.Context, within time.Duration, patterns ...string) (map[string]string, error) {
	args := append([]string{"ls-remote", "--refs", "--", h.Alias.target}, patterns...)
	out, err := h.connect(ctx, gitexec.Cmd{Args: args, Timeout: within})
	if err != nil {
		return nil, h.errUnreachable(err)
	}
	there := map[string]string{}
	for line := range strings.Lines(string(out)) {
		oid, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		there[name] = oid
	}
	return there, nil
}

// SSHSharing says whether the ssh connections to the hub are shared. It is decided once in a command.
func (h *remote) SSHSharing(ctx context.Context) sshshare.Sharing {
	h.sshOnce.Do(func() { h.ssh = sshshare.For(ctx, h.Repo, string(h.Alias.URL)) })
	return h.ssh
}

// stampOf returns the file whose time says when this clone read the hub last.
func (h *remote) stampOf() string { return h.Repo.Own("read/" + path.Base(string(h.Namespace()))) }

// stamp notes the time of a read of the hub. If it fails only the time is lost.
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

// LastRead returns when this clone read the hub last; the zero time if it never did.
func (h *remote) LastRead() time.Time {
	info, err := os.Stat(h.stampOf())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (a *Alias) errRollback(lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s has rewritten %s of its log, which this clone has seen", a.Name, lane).
		WithHints(fault.Run("githandoff", "sync", a.Name).Because("brings a restored hub up to date"),
			fault.Run("githandoff", "audit").Because("shows what is missing"))
}
