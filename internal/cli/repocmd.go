package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
)

func newRepo(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Name other repositories",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "add ALIAS URL", Short: "Name a repository, and pin which one it is",
			Args: exactArgs(2, "an alias and a URL"),
			RunE: func(cmd *cobra.Command, args []string) error { return a.repoAdd(cmd.Context(), args[0], args[1]) },
		},
		&cobra.Command{
			Use: "list", Short: "List aliases and the repositories they mean",
			Args: exactArgs(0, "no arguments"),
			RunE: func(cmd *cobra.Command, _ []string) error { return a.repoList(cmd.Context()) },
		},
		&cobra.Command{
			Use: "remove ALIAS", Short: "Forget an alias",
			Args: exactArgs(1, "an alias"),
			RunE: func(cmd *cobra.Command, args []string) error { return a.repoRemove(cmd.Context(), args[0]) },
		},
	)
	return cmd
}

func (a *app) repoAdd(ctx context.Context, name, url string) error {
	if err := handoff.CheckAlias(name); err != nil {
		return usage("%v", err)
	}
	repo, err := a.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	al, err := aliases.Add(ctx, name, url)
	if err != nil {
		return err
	}
	a.printAlias(al)
	return nil
}

func (a *app) printAlias(al *crossrepo.Alias) {
	if a.JSON {
		a.Object(aliasRow{Alias: al.Name, Repo: al.RepoID, URL: withoutSecret(al.URL)})
		return
	}
	fmt.Fprintf(a.Stdout, "%s\t%s\t%s\n", al.Name, al.RepoID, printable(withoutSecret(al.URL)))
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

func (a *app) repoList(ctx context.Context) error {
	repo, err := a.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	var first error
	for _, name := range aliases.Names() {
		al, err := aliases.Get(ctx, name)
		if err != nil {
			a.Warn(err)
			if first == nil {
				first = err
			}
			continue
		}
		a.printAlias(al)
	}
	return first
}

func (a *app) repoRemove(ctx context.Context, name string) error {
	repo, err := a.openRepo(ctx)
	if err != nil {
		return err
	}
	if repo.Config.Get("handoffrepo."+name+".id") == "" && repo.Config.Get("handoffrepo."+name+".url") == "" {
		return fault.New(fault.NotFound, fault.UnknownAlias, "no repository is called %s here", printable(name)).
			WithHints(fault.Run("githandoff", "repo", "list").Because("lists the names"))
	}
	_, err = repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--remove-section", "handoffrepo." + name}, Finish: true})
	return err
}
