package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
)

// repoCommand is "repo".
type repoCommand struct {
	*app
}

func newRepo(a *app) *cobra.Command {
	c := &repoCommand{app: a}
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Name other repositories",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newRepoAdd(a),
		&cobra.Command{
			Use: "list", Short: "List aliases and the repositories they mean",
			Args: exactArgs(0, "no arguments"),
			RunE: func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context()) },
		},
		&cobra.Command{
			Use: "remove ALIAS", Short: "Forget an alias",
			Args: exactArgs(1, "an alias"),
			RunE: func(cmd *cobra.Command, args []string) error { return c.remove(cmd.Context(), args[0]) },
		},
	)
	return cmd
}

func newRepoAdd(a *app) *cobra.Command {
	c := &repoCommand{app: a}
	var ids []string
	cmd := &cobra.Command{
		Use: "add ALIAS URL", Short: "Name a repository, and pin which one it is",
		Long: `Names a repository by a short word, and pins which one it is: its id, which follows
from the URL. https and ssh URLs of one host and path are one id.

A hub that is reached by another port, host name or path, that was renamed, moved or
mirrored, has another id in its URL than in the records that it holds. --id says that
these are names of one repository: new records bear the first one, and records that
bear any of them are at home there. Where this clone has seen the log of one of them,
the log at URL must contain it.`,
		Args: exactArgs(2, "an alias and a URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.add(cmd.Context(), args[0], args[1], ids) },
	}
	cmd.Flags().StringArrayVar(&ids, "id", nil, "another repo `ID` of the same repository; repeatable")
	return cmd
}

func (c *repoCommand) add(ctx context.Context, name, url string, ids []string) error {
	if err := handoff.CheckAlias(name); err != nil {
		return usage("%v", err)
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	if len(ids) == 0 {
		al, err := aliases.Add(ctx, name, url)
		if err != nil {
			return err
		}
		return c.print(al)
	}
	al, compared, err := aliases.AddAs(ctx, name, url, ids)
	if err != nil {
		return err
	}
	if compared == 0 {
		c.Say("githandoff: this clone has seen no log of either id, so it cannot check that both name one repository")
	} else {
		c.Say("githandoff: found %s of the log that this clone has seen", fault.Count(compared, "lane"))
	}
	return c.print(al)
}

func (c *repoCommand) print(al *crossrepo.Alias) error {
	row, cells := aliasCells(al)
	return c.Columns(row, cells...)
}

// aliasCells are the object and the columns of an alias.
func aliasCells(al *crossrepo.Alias) (aliasRow, []string) {
	row := aliasRow{Alias: al.Name, Repo: al.RepoID, URL: withoutSecret(al.URL), Also: al.Also}
	cells := []string{row.Alias, row.Repo, row.URL}
	if len(row.Also) > 0 {
		cells = append(cells, strings.Join(row.Also, " "))
	}
	return row, cells
}

// withoutSecret is a URL as it may be shown. Of http and https the user goes as well: many
// hosts take a token for one.
func withoutSecret(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	authority, path, _ := strings.Cut(rest, "/")
	i := strings.LastIndexByte(authority, '@')
	if i < 0 {
		return address
	}
	user, _, secret := strings.Cut(authority[:i], ":")
	switch {
	case strings.HasPrefix(strings.ToLower(scheme), "http"):
		user = "***"
	case !secret:
		return address
	default:
		user += ":***"
	}
	return scheme + "://" + user + "@" + authority[i+1:] + strings.TrimSuffix("/"+path, "/")
}

func (c *repoCommand) list(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	var first error
	err = printList(ctx, c.app, repo, []string{"ALIAS", "REPOSITORY", "URL", "ALSO"}, func(l *list) error {
		for _, name := range aliases.Names() {
			al, err := aliases.Get(ctx, name)
			if err != nil {
				c.Warn(err)
				first = cmp.Or(first, err)
				continue
			}
			row, cells := aliasCells(al)
			if err := l.Row(row, texts(cells...)...); err != nil {
				return err
			}
		}
		return nil
	})
	return cmp.Or(err, first)
}

func (c *repoCommand) remove(ctx context.Context, name string) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	if repo.Config.Get("handoffrepo."+name+".id") == "" && repo.Config.Get("handoffrepo."+name+".url") == "" {
		return fault.New(fault.NotFound, fault.UnknownAlias, "no repository is named %s here", printable(name)).
			WithHints(fault.Run("githandoff", "repo", "list").Because("lists the names"))
	}
	_, err = repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--remove-section", "handoffrepo." + name}, Finish: true})
	return err
}
