package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/app/pin"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/untrusted"
)

type trustCommand struct {
	*app

	arg   string // a key; for "trust export" a directory
	entry sign.TrustEntry
	user  bool
	to    string
}

func newTrust(a *app) command {
	return command{
		use:   "trust",
		short: "Manage trusted keys and their limits",
		long: `Trust is local and pinned: trust.json below the repository's git directory, and
with --user the one in $XDG_CONFIG_HOME/githandoff. It never comes from a keyring
or a key server. A key in both files may do only what both allow.

A root key that is pinned here may publish the list of its team at a hub
(githandoff trust export --to ALIAS); githandoff sync adopts it. Keys on that list count
within the limits for which the root key was pinned, and the list never widens an entry
that is pinned here. A key that a later list of that root leaves out is retired. No list
retires a root that is not narrower than the root that signed the list.`,
		example: []string{"githandoff trust list"},
		sub: []command{
			newTrustAdd(a),
			newTrustList(a),
			newTrustRemove(a),
			newTrustReview(a),
			newTrustExport(a),
		},
	}
}

func newTrustAdd(a *app) command {
	c := &trustCommand{app: a}
	return command{
		use:   "add FILE|-|KID|NAME",
		short: "Trust a key, or widen what it is trusted for",
		long: `Pins a public key: from a file (armored OpenPGP, or an SSH .pub line), from standard
input, by the name or id of a key in the keystore, or by the id of a key that its owner
published at a hub; a fingerprint stands for the id. Compare the fingerprint that it
prints with the one that the key's owner tells you.

An agent's key is trusted as sender and recipient under the agent's name. A
person's key is trusted as root: it may decide, revoke, and issue authority for
its principals, within --max-scope if that is given. A later trust add of the same key
adds to its roles and names, and takes none away; trust remove retires the key for good.

An agent that works under one name and takes from the inbox of another needs both names.
If worker2 takes from the inbox of fixer (handoff.serves), trust the key of worker2 with
--agent worker2 --agent fixer, also in the clone of worker2.`,
		example: []string{
			"githandoff trust add fixer.asc --agent fixer",
			"githandoff trust add worker2.asc --agent worker2 --agent fixer",
			"githandoff trust add alice.pub --role root --principal user:alice@example.com",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
		args:  takes(1, "one key: FILE, -, KID or NAME", &c.arg),
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&c.entry.Agents, "agent", nil, "let it act under the name of this `AGENT`; repeatable")
			f.StringArrayVar(&c.entry.Roles, "role", nil, "trust it as `ROLE`: sender, recipient or root; repeatable (sender and recipient)")
			f.StringArrayVar(&c.entry.Principals, "principal", nil, "let the root key speak for `user:MAIL`; repeatable")
			f.StringArrayVar(&c.entry.MaxScope, "max-scope", nil, "let it authorize only `SCOPE`; repeatable")
			f.StringVar(&c.entry.Until, "until", "", "trust it only before this `TIME`")
			f.BoolVar(&c.user, "user", false, "trust it in all repositories of this user")
		},
		run: c.add,
	}
}

func newTrustList(a *app) command {
	c := &trustCommand{app: a}
	return command{
		use:     "list",
		suggest: []string{"ls", "show"},
		short:   "List the keys trusted here, and for what",
		example: []string{
			"githandoff trust list",
			"githandoff trust list --json",
		},
		exits: []fault.Code{fault.Denied, fault.Invalid, fault.Unavailable},
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.user, "user", false, "only the keys of this user's own list")
		},
		run: c.list,
	}
}

func newTrustRemove(a *app) command {
	c := &trustCommand{app: a}
	return command{
		use:     "remove KID|NAME",
		suggest: []string{"rm", "delete", "revoke"},
		short:   "Retire a key; signatures this clone has seen still count",
		long: `Retires a key. Signatures that this clone has in its copies of the logs still count.
Later ones do not, whatever their date. A retired key is never trusted again: its owner
makes a new one. A team trusts the key until a list without it is published, with
"githandoff trust export --to ALIAS".

A fingerprint stands for the id. A name is that of the key in the keystore, or of the
agent or person whose only key it is. A name that may mean another key is refused.`,
		example:  []string{"githandoff trust remove openpgp:949c14597a7afbde99da837d71097450ad04d64d"},
		exits:    []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
		args:     takes(1, "a key id or name", &c.arg),
		complete: completions{a}.trusted,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.user, "user", false, "only in this user's own list")
		},
		run: c.remove,
	}
}

func newTrustExport(a *app) command {
	c := &trustCommand{app: a}
	return command{
		use:   "export DIR",
		short: "Write allowed_signers and a gpg keyring, or publish the team's list",
		long: `Writes allowed_signers and a gpg keyring into DIR, so that git, gpgv and
ssh-keygen trust the same keys as this repository.

--to publishes a list at a hub instead: the keys that are trusted here, signed with your
root key, as your list of the team. The lists of other roots stay beside it as they
signed them. A key that you removed here is retired in your list.`,
		example: []string{
			"githandoff trust export /tmp/keys",
			"githandoff trust export --to origin",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Policy, fault.Unavailable},
		args: func(cmd *cobra.Command, args []string) error {
			if c.to != "" {
				return takes(0, "a directory, or --to ALIAS")(cmd, args)
			}
			return takes(1, "a directory, or --to ALIAS", &c.arg)(cmd, args)
		},
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.to, "to", "", "publish the list of the team at the hub `ALIAS`")
			f.BoolVar(&c.user, "user", false, "only the keys of this user's own list")
		},
		run: func(ctx context.Context) error {
			if c.to != "" {
				return c.publish(ctx)
			}
			return c.export(ctx)
		},
	}
}

// open opens the list for a command. With --user no repository is needed.
func (c *trustCommand) open(ctx context.Context) (trust *sign.Trust, path string, err error) {
	if c.user {
		return userTrust(c.Getenv)
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return nil, "", err
	}
	trust, err = c.loadTrust(repo)
	return trust, repo.Own(trustFile), err
}

// pins makes the handler of a list.
func (c *trustCommand) pins(trust *sign.Trust, path string) *pin.Handler {
	return &pin.Handler{Keystore: c.keystore(), Trust: trust, Path: path, Now: c.Now, Read: c.readInput, Published: c.published}
}

func (c *trustCommand) add(ctx context.Context) error {
	if err := checkMaxScope(c.app, c.entry.MaxScope); err != nil {
		return err
	}
	trust, path, err := c.open(ctx)
	if err != nil {
		return err
	}
	if c.entry.Until, err = until(c.entry.Until); err != nil {
		return err
	}
	added, err := c.pins(trust, path).Add(ctx, c.arg, c.entry)
	if err != nil {
		return err
	}
	c.print(added.Key)
	if !added.Own {
		c.Say("compare the fingerprint with what the owner of the key tells you")
	}
	if len(added.Inert) > 0 {
		c.Warn(fmt.Errorf("%s: not in the entry of this key in your own list, which limits what it may do here", strings.Join(added.Inert, ", ")))
		c.Hint(fault.Run("githandoff", "trust", "list", "--user").Because("shows that entry"))
	}
	return nil
}

// published finds a key at the hubs; outside of a repository nothing is published.
func (c *trustCommand) published(ctx context.Context, kid sign.KID, missing error) (sign.PublicKey, error) {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return sign.PublicKey{}, missing
	}
	public, where, err := team.New(ws).PublishedKey(ctx, kid)
	if err == nil {
		c.Say("%s is published in %s", kid, where)
	}
	return public, err
}

// checkMaxScope refuses a limit that is no scope, because it would allow nothing, and warns of one that may allow
// less than it seems.
func checkMaxScope(a *app, limits []string) error {
	for _, limit := range limits {
		if _, err := obo.ParseScope(limit); err != nil {
			return usage("--max-scope: %v", err).WithHints(fault.As(err).Hints...)
		}
		if err := obo.Doubt(limit); err != nil {
			a.Warn(fmt.Errorf("--max-scope %w", err))
		}
	}
	return nil
}

// until reads the end of a trust: RFC 3339, or a day, which begins at midnight
// UTC. It may be over: entries that a retired key signed before it still count.
func until(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return handoff.FormatTime(t.UTC()), nil
		}
	}
	return "", usage("--until %s: want a time like 2030-01-31 or 2030-01-31T12:00:00Z", untrusted.Line(s))
}

func (c *trustCommand) list(ctx context.Context) error {
	trust, _, err := c.open(ctx)
	if err != nil {
		return err
	}
	return printList(ctx, c.app, nil, []string{"WHO", "MAY BE", "LIMITS", "KEY"}, func(l *list) error {
		for _, k := range sign.KeysOf(trust) {
			r := trustRowOf(k, c.Now())
			cells := []string{r.KID, r.says()}
			if l.ForPeople() {
				cells = []string{r.names(), strings.Join(r.Roles, ", "), r.limits(), r.KID}
			}
			l.Row(r, texts(cells...)...)
		}
		return nil
	})
}

func (c *trustCommand) remove(ctx context.Context) error {
	trust, path, err := c.open(ctx)
	if err != nil {
		return err
	}
	if !c.user {
		path = "" // retire the key wherever it is pinned
	}
	repo, err := c.openRepo(ctx)
	if err != nil && !c.user {
		return err
	}
	k, err := c.pins(trust, path).Retire(ctx, repo, c.arg)
	if err != nil {
		return err
	}
	r := trustRowOf(k, c.Now())
	err = c.Columns(r, r.KID, "retired "+r.Retired)
	if hint, own := c.keystore().SetAside(k.KID()); own {
		c.Warn(errors.New("this is a key of your own: what it signs from now on does not count"))
		c.Hint(hint)
	}
	if repo != nil {
		c.stillListed(repo, trust, k.KID())
	}
	return err
}

// stillListed says where a key that was retired here is on a list of a root key of this account: the
// team and a guarded hub trust it until the next list is published.
func (c *trustCommand) stillListed(repo *refs.Repo, trust *sign.Trust, kid sign.KID) {
	for _, l := range sign.ListedIn(trust, kid) {
		root, known := trust.Lookup(l.Signer)
		alias := crossrepo.Aliases{Repo: repo}.NameOf(l.Home)
		_, err := c.keystore().Public(l.Signer)
		if !known || err != nil || l.Signer == kid || alias == "" || len(root.Entry().Principals) == 0 {
			continue
		}
		person := strings.TrimPrefix(root.Entry().Principals[0], "user:")
		c.Warn(fmt.Errorf("your list at %s has this key: the team trusts it until you publish the list again", alias))
		c.Hint(fault.See("trust export").Because("--to %s, as %s, retires it for the team", alias, person))
	}
}

func (c *trustCommand) export(ctx context.Context) error {
	trust, _, err := c.open(ctx)
	if err != nil {
		return err
	}
	dir := inDir(c.Dir, c.arg)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usage("%s is not a directory", untrusted.Line(dir))
	}
	if err := trust.Export(dir); err != nil {
		return err
	}
	for _, name := range []string{"allowed_signers", "pubring.gpg"} {
		path := filepath.Join(dir, name)
		if err := c.Row(fileRow{path}, "%s", path); err != nil {
			return err
		}
	}
	return nil
}

// publish signs what is trusted here as the list of a hub's team.
func (c *trustCommand) publish(ctx context.Context) error {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	hub, err := ws.Hub(ctx, c.to)
	if err != nil {
		return err
	}
	published, err := team.New(ws).Publish(ctx, hub)
	if err != nil {
		return err
	}
	if published == nil {
		c.Say("%s already has this list", c.to)
		return nil
	}
	return c.Row(teamRow{c.to, len(published.Keys), published.Serial},
		"%s  list %d, %s", c.to, published.Serial, fault.Count(len(published.Keys), "key"))
}
