package doctor

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/sshshare"
	"githandoff/internal/workspace"
)

// checkHubs asks each hub what it takes. A hub that is never a home need not take anything.
func (d *checkup) checkHubs(ctx context.Context) {
	aliases := crossrepo.Aliases{Repo: d.repo}
	checkName := func(setting, name string) {
		if !slices.Contains(aliases.Names(), name) {
			d.problem("hub "+name, crossrepo.ErrNamed(aliases, setting, name))
		}
	}
	for _, name := range d.repo.Config.All("handoff.pull") {
		checkName("handoff.pull", name)
	}
	if name := d.repo.Config.Get("handoff.defaultrepo"); name != "" {
		checkName("handoff.defaultRepo", name)
	}
	for _, name := range aliases.Names() {
		al, _, err := aliases.Resolve(name)
		if err != nil {
			continue // checkRemotes reports the error
		}
		check := "hub " + name
		hub := crossrepo.NewHub(al, d.repo, nil)
		checkSharing(ctx, d, hub)
		p, err := hub.Probe(ctx, d.Random)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.problem(check, err)
		case p.Refused != nil && !reliedOn(aliases, name):
			d.ok(check, "%s; no handoff is sent there", p.Refused)
		case p.Refused != nil:
			d.problem(check, p.Refused)
		case hub.CheckDeletes() != nil:
			d.problem(check, hub.CheckDeletes())
		case hub.LastRefusal() != nil:
			d.problem(check, hub.LastRefusal())
		case p.Lost != nil && (p.Here || len(p.Elsewhere) == 0):
			d.problem(check, p.Lost)
		case p.Holds == 0:
			d.ok(check, "answers a dry run of an atomic push; githandoff doctor %s tests whether it takes %s", name, al.Below())
		default:
			d.ok(check, "answers a dry run of an atomic push, and holds %s of handoffs; githandoff doctor %s tests real pushes", fault.Count(p.Holds, "ref"), name)
		}
		if err == nil {
			tellPrefixes(d, check, al, p)
		}
	}
}

// tellPrefixes reports a hub that has handoffs below more than one prefix, or below another one
// than this clone looks. Two prefixes other than the usual one may be those of two teams.
func tellPrefixes(d *checkup, check string, al *crossrepo.Alias, p *crossrepo.Probe) {
	own, usual := al.Below(), crossrepo.UsualPrefix
	for _, other := range p.Elsewhere {
		switch {
		case !p.Here:
			d.problem(check, crossrepo.ErrElsewhere(al, other, "looks there, if that is where your team keeps its handoffs"))
		case own == usual || other == usual:
			d.wrong(check, fault.Run("git", "ls-remote", "--", al.URL.Bare(), own+"/*", other+"/*").Because("shows both; each clone of a team needs the same prefix"),
				"%s has handoffs below %s, where this clone looks, and below %s: clones that look there do not see the same handoffs", al.Name, own, other)
		}
	}
}

// checkSharing says whether commands share ssh connections to a hub.
func checkSharing(ctx context.Context, d *checkup, hub *crossrepo.Hub) {
	switch s := hub.SSHSharing(ctx); {
	case s.Why == sshshare.NotSSH:
	case s.Why != "":
		d.ok("ssh "+hub.Alias.Name, "every command opens its own connection: %s", s.Why)
	default:
		d.ok("ssh "+hub.Alias.Name, "commands share a connection, which ends %d seconds after its last use (handoff.sshShare)", sshshare.Seconds)
	}
}

// reliedOn reports whether handoffs are sent to a hub, or taken from it, although no command names it.
func reliedOn(aliases crossrepo.Aliases, name string) bool {
	config := aliases.Repo.Config
	return (&workspace.Homes{Repo: aliases.Repo, Aliases: aliases}).Pulls(name) || config.Get("handoff.defaultrepo") == name ||
		config.Get("handoffrepo."+name+".url") != ""
}

// tryHubs finds out by real pushes what hubs take.
func tryHubs(ctx context.Context, d *checkup, names []string) error {
	aliases := crossrepo.Aliases{Repo: d.repo}
	for _, name := range names {
		al, _, err := aliases.Resolve(name)
		if err != nil {
			return err
		}
		hub := crossrepo.NewHub(al, d.repo, nil)
		trial, err := crossrepo.Try(ctx, hub, d.Random)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			d.problem("hub "+name, err)
			continue
		}
		if f := fault.As(trial.Refused); f != nil && crossrepo.TakesBranches(ctx, hub, d.Random) {
			prefix := fault.Run("githandoff", "repo", "add", name, al.URL.Bare(), "--prefix", crossrepo.BranchPrefix).
				Because("%s takes branches: handoffs can be kept below that prefix, by the whole team", name)
			trial.Refused = f.WithHints(append(slices.Clone(f.Hints[:min(len(f.Hints), fault.MaxHints-1)]), prefix)...)
		}
		tellTrial(d, "hub "+name, hub, trial)
	}
	return d.result()
}

// tellTrial reports one trial.
func tellTrial(d *checkup, check string, hub *crossrepo.Hub, t *crossrepo.Trial) {
	switch {
	case t.Refused != nil:
		d.problem(check, t.Refused)
	case t.Early:
		d.ok(check, "has a guard of an earlier version, which refused the trial push: the first handoff shows what the hub takes")
	default:
		text := "takes " + hub.Alias.Below() + " in atomic pushes, shows them, moves and deletes them; has "
		if t.Guarded {
			text += "a guard"
		} else {
			text += "no guard"
		}
		for _, what := range t.Untried {
			text += "; not tried: " + what
		}
		if t.Swept > 0 {
			text += "; deleted " + fault.Count(t.Swept, "ref") + " that earlier trials had left"
		}
		d.ok(check, "%s", text)
	}
	if t.WasGuarded {
		d.problem(check, crossrepo.LostGuard(hub))
	}
	if len(t.Left) > 0 {
		d.wrong(check, fault.Fact("the administrator of %s can delete them", hub.Alias.Name), "the trial push left %s behind", strings.Join(t.Left, ", "))
	}
}
