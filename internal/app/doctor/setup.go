package doctor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/policy"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/teampolicy"
	"githandoff/internal/workspace"
)

func (d *checkup) checkGit(ctx context.Context) {
	version, err := gitexec.Installed(ctx, d.Vars)
	switch {
	case err != nil:
		d.problem("git", err)
	case gitexec.OlderThan(version, refs.OldestGit):
		d.wrong("git", fault.Fact("githandoff works with git %s or newer", refs.OldestGit), "git %s is too old", version)
	default:
		d.ok("git", "%s", version)
	}
}

// gitStarts reports whether a git starts here: it ends at once for a value of a setting that it does not take.
func gitStarts(ctx context.Context, d *checkup) bool {
	_, err := d.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "--git-dir"}})
	switch {
	case err == nil:
		return true
	case gitexec.Unexplained(err):
		d.problem("settings", err)
	default:
		d.wrong("settings", refs.ListSettings(), "%s", err)
	}
	return false
}

// choices are the words that a setting may have. Any other word counts as if the setting were absent.
var choices = []struct{ key, words string }{
	{"handoff.session", "announce, peek, take, off"},
	{"handoff.stop", "remind, off"},
	{"handoff.end", "keep, release"},
	{"handoff.lanes", "needed, all"},
	{"handoff.archive", "true, false"},
	{"handoff.publish", "true, false"},
	{"handoff.enforce", "true, false"},
	{"handoff.sshShare", "true, false"},
}

// checkSettings checks the values that no command refuses.
func checkSettings(d *checkup) {
	const noEffect = "%s is %q, which has no effect: it wants %s"
	for _, c := range choices {
		key := refs.ConfigKey(c.key)
		value := d.repo.Config.Get(key)
		known := slices.Contains(strings.Split(c.words, ", "), value)
		if c.words == "true, false" {
			known = d.repo.Config.Bool(key) || d.repo.Config.Off(key)
		}
		if value != "" && !known {
			d.problem("settings", fault.New(fault.Other, fault.Problem, noEffect, c.key, value, "one of "+c.words).
				WithHints(d.repo.Unset(c.key, value, "removes it")...))
		}
	}
	for _, inbox := range d.repo.Config.All("handoff.serves") {
		if handoff.CheckAgent(inbox) != nil {
			d.wrong("settings", fault.Run("git", "config", "--show-origin", "--get-all", "handoff.serves").Because("shows which file sets it"),
				noEffect, "handoff.serves", inbox, "names of agents")
		}
	}
}

func (d *checkup) checkRepository() {
	kind := "work tree " + d.repo.Worktree
	switch {
	case d.repo.Bare:
		kind = "bare " + d.repo.CommonDir
	case d.repo.GitDir != d.repo.CommonDir:
		kind = "linked work tree " + d.repo.Worktree
	}
	id := d.repo.Config.Get("handoff.repoid")
	switch {
	case id != "":
		d.ok("repository", "%s, object format %s, %s", kind, d.repo.Format, id)
	case d.repo.Bare:
		d.ok("repository", "%s, object format %s; a hub needs no set-up", kind, d.repo.Format)
	default:
		d.wrong("repository", d.setUp(), "%s is not set up", kind)
	}
	if err := d.repo.CheckWritable(); err != nil {
		d.problem("repository", err)
	}
}

// setUp returns how a repository gets its agent: the one that it names, or one that
// only the caller knows.
func (d *checkup) setUp() fault.Hint {
	if agent, err := d.Agent(d.repo); err == nil && !strings.Contains(agent, "@") {
		return fault.Run("githandoff", "init", "--as", agent)
	}
	return fault.See("init").Because("--as names the agent that works here")
}

// checkIdentity checks who acts here, with which key, and whether that key is trusted.
func (d *checkup) checkIdentity(ctx context.Context) {
	trust, trustErr := d.Trust(d.repo)
	if trustErr != nil {
		d.problem("trust", trustErr)
	} else {
		d.checkTrust(trust)
	}
	agent, err := d.Agent(d.repo)
	if err != nil {
		if d.repo.Bare {
			d.ok("identity", "no agent; a hub needs none")
			return
		}
		d.problem("identity", err)
		return
	}
	d.ok("identity", "%s", agent)
	signer, err := d.Signer(ctx, d.repo, agent)
	if err == nil {
		_, err = signer.Sign(ctx, sign.NamespaceGit, []byte("doctor\n"))
	}
	if err != nil {
		d.problem("key", err)
		return
	}
	d.ok("key", "%s signs", signer.KID())
	if trustErr == nil {
		d.checkTrusted(trust, signer.KID(), agent)
	}
}

func (d *checkup) checkTrusted(trust *sign.Trust, kid sign.KID, agent string) {
	k, ok := trust.Lookup(kid)
	if !ok {
		mends := fault.Run("githandoff", "init", "--as", agent).Because("trusts the key of this worktree's own agent")
		if strings.Contains(agent, "@") {
			mends = fault.Fact("a person's key is trusted by that person's own init")
		}
		d.wrong("trusted", mends, "key %s is not trusted here", kid)
		return
	}
	roles := []string{sign.RoleSender, sign.RoleRecipient}
	if strings.Contains(agent, "@") {
		roles = []string{sign.RoleRoot}
	}
	for _, role := range roles {
		if err := k.MayAct(role, agent, d.Now); err != nil {
			if another, ok := d.SetAside(kid); ok && fault.Is(err, fault.KeyRevoked) {
				err = fault.As(err).WithHints(another)
			}
			d.problem("trusted", err)
			return
		}
	}
	for _, inbox := range d.repo.Config.All("handoff.serves") {
		if fault.Is(k.MayAct(sign.RoleRecipient, inbox, d.Now), fault.UntrustedKey) && handoff.CheckAgent(inbox) == nil {
			d.wrong("trusted", fault.Run("githandoff", "trust", "add", string(kid), "--agent", inbox).Because("here; clones that send to %s need it too", inbox),
				"handoff.serves names the inbox of %s, and key %s is not trusted under that name", inbox, kid)
			return
		}
	}
	d.ok("trusted", "as %s", strings.Join(roles, ", "))
}

// checkPolicy reads the team's policy, if there is one.
func checkPolicy(ctx context.Context, d *checkup) {
	p, err := (&teampolicy.Reader{Repo: d.repo}).Read(ctx)
	switch {
	case err != nil:
		d.problem("policy", err)
	case p != nil:
		d.ok("policy", "%s can be read", policy.Name)
	}
}

// checkRemotes looks at names and settings; checkHubs asks the hubs themselves.
func (d *checkup) checkRemotes(ctx context.Context) {
	aliases := crossrepo.Aliases{Repo: d.repo}
	named := []string{d.repo.Config.Get("handoff.repoid")}
	for _, name := range aliases.Names() {
		check := "remote " + name
		al, pinned, err := aliases.Resolve(name)
		switch {
		case err != nil:
			d.problem(check, err)
		case !pinned:
			d.ok(check, "%s, pinned at its first use", al.RepoID)
		default:
			d.ok(check, "%s", al.RepoID)
		}
		if named = append(named, d.repo.Config.Get("handoffrepo."+name+".id")); err == nil {
			named = append(named, al.IDs()...)
		}
		d.checkRefspec(ctx, name)
	}
	used, err := workspace.UsedHomes(ctx, d.repo)
	if err != nil {
		d.problem("remotes", err)
	}
	for _, id := range used {
		if !slices.Contains(named, id) {
			d.problem("remotes", fmt.Errorf("%w, where handoffs of this clone may be open", crossrepo.ErrNameless(aliases, id)))
		}
	}
}

// checkRefspec wants refs/handoffs kept out of refspecs that reach it, and out of no others:
// a negative refspec is more than many tools can read.
func (d *checkup) checkRefspec(ctx context.Context, name string) {
	check, key := "remote "+name, "remote."+name+".fetch"
	settings := gitconfig.Of(d.repo)
	missing, spare := settings.KeepOuts(name)
	if len(missing)+len(spare) == 0 {
		return
	}
	if d.Fix {
		if err := settings.SetKeepOuts(ctx, name); err != nil {
			d.problem(check, err)
			return
		}
		d.fixed(check, "the refspec %s of %s is now only where it is needed", strings.Join(append(missing, spare...), " "), key)
		return
	}
	for _, problem := range settings.CopiesHandoffs(name) {
		d.problem(check, problem)
	}
	if len(spare) == 0 {
		return
	}
	d.problem(check, fault.New(fault.Other, fault.Problem, "%s has the refspec %s, which go-git and libgit2 cannot read and nothing here needs", key, gitconfig.KeepOut).
		WithHints(fault.Run("githandoff", "doctor", "--fix").Because("removes it")))
}

func (d *checkup) checkNotes() {
	if d.repo.Bare {
		return // nobody commits in a bare repository
	}
	covered := func(key, ref string) bool {
		return slices.ContainsFunc(d.repo.Config[key], func(glob string) bool {
			match, err := path.Match(glob, ref)
			return err == nil && match
		})
	}
	if !covered("notes.rewriteref", refs.NotesRef) {
		d.wrong("notes", fault.Run("git", "config", "--add", "notes.rewriteRef", refs.NotesPattern), "notes.rewriteRef does not name %s", refs.NotesRef)
		return
	}
	if mode := d.repo.Config.Get("notes.rewritemode"); mode != "cat_sort_uniq" {
		d.wrong("notes", fault.Run("git", "config", "notes.rewriteMode", "cat_sort_uniq"), "notes.rewriteMode is %q: rewriting a commit duplicates or loses its notes", mode)
		return
	}
	if covered("notes.displayref", refs.ShownRef) {
		d.ok("notes", "shown by git log, and kept when commits are rewritten")
		return
	}
	d.ok("notes", "kept when commits are rewritten; githandoff init --notes lets git log show them")
}
