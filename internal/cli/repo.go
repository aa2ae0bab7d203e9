package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
)

// repoCommand is "repo".
type repoCommand struct {
	*app
	name, url string
	ids       []string
	prefix    string
	move      bool
}

func newRepo(a *app) command {
	c := &repoCommand{app: a}
	return command{
		use:     "repo",
		suggest: []string{"remote", "alias"},
		short:   "Manage aliases of other repositories",
		example: []string{"githandoff repo list"},
		sub: []command{
			newRepoAdd(a),
			{
				use:     "list",
				suggest: []string{"ls", "show"},
				short:   "List aliases and the repositories they mean",
				example: []string{"githandoff repo list"},
				exits:   []fault.Code{fault.Denied, fault.Unavailable},
				run:     c.list,
			},
			{
				use:      "remove ALIAS",
				suggest:  []string{"rm", "delete"},
				short:    "Forget an alias",
				example:  []string{"githandoff repo remove client"},
				exits:    []fault.Code{fault.NotFound, fault.Unavailable},
				args:     takes(1, "an alias", &c.name),
				complete: completions{a}.aliases,
				run:      c.remove,
			},
		},
	}
}

func newRepoAdd(a *app) command {
	c := &repoCommand{app: a}
	return command{
		use:   "add ALIAS URL",
		short: "Add an alias for a repository, and pin its id",
		long: `Gives a repository a short name, the alias, and pins its id, which follows from the URL.
https and ssh URLs of one host and path have the same id.

A hub that is reached by another port, host name or path, or that was renamed, moved or
mirrored, has another id in its URL than in its records. --id declares that these are
ids of one repository: new records use the first one, and records with any of them are
at home there. If this clone has seen the log of one of them, the log at URL must
contain it.

--prefix is for a host that takes nothing but branches and tags: the hub then keeps
handoffs below refs/heads/handoffs in place of refs/handoffs. They show as branches
there, and rules and CI for branches apply to them. Each clone of the team needs the
same prefix; an invitation carries it. githandoff doctor HUB says whether a hub needs it.`,
		example: []string{"githandoff repo add client https://example.com/acme/client.git"},
		exits:   []fault.Code{fault.Denied, fault.Conflict, fault.Unavailable},
		args:    takes(2, "an alias and a URL", &c.name, &c.url),
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.prefix, "prefix", "", "the hub keeps handoffs below `PREFIX`, such as refs/heads/handoffs")
			f.BoolVar(&c.move, "move", false, "with --prefix, move the refs of handoffs at the hub to it")
			f.StringArrayVar(&c.ids, "id", nil, "another repo `ID` of the same repository; repeatable")
		},
		run: c.add,
	}
}

func (c *repoCommand) add(ctx context.Context) error {
	if err := handoff.CheckAlias(c.name); err != nil {
		return usage("%v", err)
	}
	if c.move && c.prefix == "" {
		return usage("--move needs --prefix")
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	if err := c.spare(ctx, aliases); err != nil {
		return err
	}
	al, err := c.named(ctx, aliases)
	if err != nil {
		return err
	}
	if err := c.below(ctx, aliases, al); err != nil {
		return err
	}
	if path, ok := al.Path(); ok && !exists(path) && !exists(path+".git") {
		c.Say("githandoff: warning: no repository can be seen at %s; what is sent there waits in this clone", untrusted.Line(path))
	}
	return c.print(al)
}

// spare refuses to give an alias to another repository while handoffs are open at the one that it
// names: nothing else in this clone leads there.
func (c *repoCommand) spare(ctx context.Context, aliases crossrepo.Aliases) error {
	replaced, err := crossrepo.Replaced(aliases, c.name, c.url, c.ids)
	if err != nil || len(replaced) == 0 {
		return err
	}
	open, err := c.openAt(ctx, replaced)
	if err != nil || open == 0 {
		return err
	}
	hints := []fault.Hint{
		fault.Run("githandoff", "repo", "add", crossrepo.Unused(aliases, c.name), crossrepo.URL(c.url).Bare()).Because("gives the other repository a name of its own"),
		fault.Run("githandoff", "status").Because("lists these handoffs; githandoff sync learns which of them are over"),
	}
	if !crossrepo.IsRemote(aliases.Repo.Config, c.name) {
		hints = append(hints, fault.Run("githandoff", "repo", "remove", c.name).Because("forgets the first repository, if they do not matter"))
	}
	return fault.New(fault.Usage, fault.RepoKnown, "%s names %s, where %s of this clone may be open", c.name, replaced[0], fault.Count(open, "handoff")).
		WithHints(hints...)
}

// openAt counts the handoffs which this clone sent to a repository with one of these ids, or holds
// there.
func (c *repoCommand) openAt(ctx context.Context, ids []string) (int, error) {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return 0, err
	}
	open := map[handoff.ID]bool{}
	sent, err := ws.Outgoing(ctx)
	if err != nil {
		return 0, err
	}
	for _, it := range sent {
		if it.Record != nil && slices.Contains(ids, it.Record.Home) {
			open[it.Place.ID] = true
		}
	}
	held, err := work.OfClone(ws.Repo)
	for _, h := range held {
		if slices.Contains(ids, h.Home) {
			open[h.ID] = true
		}
	}
	return len(open), err
}

// below sets the prefix of the hub's refs, if there is one to set.
func (c *repoCommand) below(ctx context.Context, aliases crossrepo.Aliases, al *crossrepo.Alias) error {
	switch {
	case c.prefix == "":
		return nil
	case !c.move:
		return aliases.SetPrefix(ctx, al, c.prefix)
	}
	moved, warning, err := crossrepo.Move(ctx, aliases, al, c.prefix)
	if warning != nil {
		c.Warn(warning)
	}
	if err == nil {
		c.Say("githandoff: moved %s; each clone of the team needs the same prefix now", fault.Count(moved, "ref"))
	}
	return err
}

// named gives a repository its alias, and further ids if there are any.
func (c *repoCommand) named(ctx context.Context, aliases crossrepo.Aliases) (*crossrepo.Alias, error) {
	if len(c.ids) == 0 {
		return aliases.Add(ctx, c.name, c.url)
	}
	al, compared, err := aliases.AddAs(ctx, c.name, c.url, c.ids)
	if err != nil {
		return nil, err
	}
	if compared == 0 {
		c.Say("githandoff: this clone has seen no log of the other id, so it cannot check that both name one repository")
	} else {
		c.Say("githandoff: found %s of the log that this clone has seen", fault.Count(compared, "lane"))
	}
	return al, nil
}

func (c *repoCommand) print(al *crossrepo.Alias) error {
	row, cells := aliasCells(al)
	return c.Columns(row, cells...)
}

// aliasCells returns the object and the columns of an alias.
func aliasCells(al *crossrepo.Alias) (aliasRow, []string) {
	row := aliasRow{Alias: al.Name, Repo: al.RepoID, URL: al.URL.String(), Also: al.Also, Prefix: al.Prefix}
	cells := []string{row.Alias, row.Repo, row.URL}
	if len(row.Also) > 0 {
		cells = append(cells, strings.Join(row.Also, " "))
	}
	return row, cells
}

func (c *repoCommand) list(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	first := fault.First{Warn: c.Warn}
	err = printList(ctx, c.app, repo, []string{"ALIAS", "REPOSITORY", "URL", "ALSO"}, func(l *list) error {
		for _, name := range aliases.Names() {
			al, err := aliases.Get(ctx, name)
			if err != nil {
				first.Keep(err)
				continue
			}
			row, cells := aliasCells(al)
			l.Row(row, texts(cells...)...)
		}
		return nil
	})
	return cmp.Or(err, first.Err)
}

func (c *repoCommand) remove(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	open := 0
	al, pinned, _ := aliases.Resolve(c.name) // an alias that leads nowhere may be removed, too
	if pinned {
		if open, err = c.openAt(ctx, al.IDs()); err != nil {
			c.Warn(err)
		}
	}
	if err := aliases.Remove(ctx, c.name); err != nil {
		return err
	}
	if open > 0 && aliases.NameOf(al.RepoID) == "" {
		c.Warn(fault.New(fault.NotFound, fault.UnknownHome, "no alias leads to %s any more, where %s of this clone may be open", al.RepoID, fault.Count(open, "handoff")))
	}
	return nil
}
