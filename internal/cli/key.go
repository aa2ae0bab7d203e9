package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/pin"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

// keyCommand is "key" and the commands below it.
type keyCommand struct {
	*app
	name, to string
}

func newKey(a *app) command {
	c := &keyCommand{app: a}
	return command{
		use:   "key",
		short: "Make, show and export the signing keys of agents and people",
		long: `Keys are OpenPGP Ed25519 keys, one file each in $XDG_DATA_HOME/githandoff/keys,
readable by you alone. Agents' keys have no passphrase; a person is asked for one at a
terminal. A key has no effect until somebody trusts it: githandoff trust add.`,
		example: []string{"githandoff key show"},
		sub: []command{
			{
				use:     "generate [NAME]",
				suggest: []string{"new", "create"},
				short:   "Make a key for an agent, or for a person (a mail address)",
				long: `Makes a key and prints its id. Without NAME it is the key of this worktree's agent. If a
key of that name exists, it is kept and its id is printed.

To replace a retired key, rename its file first, in the directory named by "githandoff
help key". Then "githandoff init" makes another key, and trusts it here.`,
				example: []string{"githandoff key generate alice@example.com"},
				exits:   []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
				args:    takes(0, "at most one name", &c.name),
				run:     c.generate,
			},
			{
				use:   "passphrase NAME|KID",
				short: "Set or change the passphrase of a key",
				long: `Asks at a terminal for the current passphrase and for the new one. An agent's key needs
none: an agent could not type it.`,
				example: []string{"githandoff key passphrase alice@example.com"},
				args:    takes(1, "one name or key id", &c.name),
				run:     c.changePassphrase,
			},
			{
				use:     "show [NAME|KID]",
				suggest: []string{"list", "ls"},
				short:   "Show the keys in this keystore, or one of them",
				example: []string{
					"githandoff key show",
					"githandoff key show fixer",
				},
				exits:    []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
				args:     takes(0, "at most one name or key id", &c.name),
				complete: completions{a}.keys,
				run:      c.show,
			},
			newKeyExport(a),
		},
	}
}

func newKeyExport(a *app) command {
	c := &keyCommand{app: a}
	return command{
		use:   "export [AGENT|MAIL|KID]",
		short: "Print or publish a public key, for others to trust",
		long: `Prints the public half of a key: an armored OpenPGP block, or the line of an SSH key.
Without an argument it prints the key that signs in this worktree. Give it to the people
who need to trust it (githandoff trust add FILE), and tell them its fingerprint through
another channel.

--to publishes it at a hub, where nobody trusts it yet. Tell others the fingerprint, and
they pin it with githandoff trust add KID. The name of its ref is printed.`,
		example: []string{
			"githandoff key export >fixer.asc",
			"githandoff key export --to origin",
		},
		exits:    []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
		args:     takes(0, "at most one name or key id", &c.name),
		complete: completions{a}.keys,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.to, "to", "", "publish it at the hub `ALIAS`")
		},
		run: func(ctx context.Context) error {
			if c.to != "" {
				return c.publish(ctx)
			}
			return c.export(ctx)
		},
	}
}

// keyRow is the JSON object of a key. Its members are stable.
type keyRow struct {
	Name        string   `json:"name,omitempty"`    // name in the keystore
	KID         sign.KID `json:"key"`               // key id
	Fingerprint string   `json:"fingerprint"`       // fingerprint as people compare it
	UserID      string   `json:"user_id,omitempty"` // what the key says of its owner
	Agents      []string `json:"agents,omitempty"`  // names under which it acts here
	Created     string   `json:"created,omitempty"` // time of its creation
	Where       string   `json:"where,omitempty"`   // file of the private key
	Public      string   `json:"public,omitempty"`  // the key itself
	Ref         string   `json:"ref,omitempty"`     // ref under which it is published
}

func keyRowOf(store sign.Keystore, name string, public sign.PublicKey, trust *sign.Trust) keyRow {
	r := keyRow{Name: name, KID: public.KID(), Fingerprint: sign.Fingerprint(public.KID()), UserID: public.UserID()}
	if at := public.Created(); !at.IsZero() {
		r.Created = handoff.FormatTime(at)
	}
	if name != "" {
		r.Where = filepath.Join(store.Dir, name+".asc")
	}
	if k, ok := trust.Lookup(r.KID); ok {
		r.Agents = k.Entry().Agents
	}
	return r
}

func (c *keyCommand) generate(ctx context.Context) error {
	name := c.name
	if name == "" {
		repo, err := c.openRepo(ctx)
		if err != nil {
			return err
		}
		if name, err = c.identity(repo); err != nil {
			return err
		}
	}
	if err := handoff.CheckAgent(name); err != nil && !strings.Contains(name, "@") {
		return usage("%v", err).WithHints(fault.Fact("a key is named after its agent, or after a person's mail address"))
	}
	public, fresh, err := makeKey(c.app, name)
	if err != nil {
		return err
	}
	return c.Print(func() (any, error) {
		trust, err := c.anyTrust(ctx)
		return keyRowOf(c.keystore(), name, public, trust), err
	}, func(t *output.Lines) error {
		if !fresh {
			c.Say("%s already has a key", name)
		}
		t.Line("%s", public.KID())
		return nil
	})
}

// makeKey makes the key of an agent or a person, unless there is one. A person
// at a terminal is asked for a passphrase: an agent could not type it.
func makeKey(a *app, name string) (public sign.PublicKey, fresh bool, err error) {
	store := a.keystore()
	if public, err = store.Public(name); !fault.Is(err, fault.NoKey) {
		return public, false, err
	}
	var passphrase []byte
	if strings.Contains(name, "@") {
		if passphrase, err = newPassphrase(a, "passphrase for the new key of "+name); err != nil {
			return public, false, err
		}
	}
	signer, err := store.Generate(name, sign.UserID(name), passphrase, a.Now(), a.Random)
	if err != nil {
		return public, false, err
	}
	if strings.Contains(name, "@") && len(passphrase) == 0 {
		a.Warn(fmt.Errorf("the key of %s has no passphrase: every program of this account can sign with it; "+
			"to set one, run in a terminal: githandoff key passphrase %s", name, fault.Arg(name)))
	}
	return signer.Public(), true, nil
}

// anyTrust returns the trust list of this repository; outside of a repository, the list of this
// user.
func (a *app) anyTrust(ctx context.Context) (*sign.Trust, error) {
	repo, err := a.openRepo(ctx)
	if fault.Is(err, fault.NotARepository) && a.Dir == "" {
		trust, _, err := userTrust(a.Getenv)
		return trust, err
	}
	if err != nil {
		return nil, err
	}
	return a.loadTrust(repo)
}

func (c *keyCommand) show(ctx context.Context) error {
	trust, err := c.anyTrust(ctx)
	if err != nil {
		return err
	}
	infos, err := c.keystore().List()
	if err != nil {
		return err
	}
	if c.name == "" {
		return c.list(ctx, infos, trust)
	}
	kid := sign.FromFingerprint(c.name)
	i := slices.IndexFunc(infos, func(k sign.KeyInfo) bool { return k.Name == c.name || k.Err == nil && k.Public.KID() == kid })
	switch {
	case i >= 0 && infos[i].Err != nil:
		return infos[i].Err
	case i >= 0:
		return c.print(keyRowOf(c.keystore(), infos[i].Name, infos[i].Public, trust))
	}
	public, err := c.pinned(trust, c.name)
	if err != nil {
		return err
	}
	return c.print(keyRowOf(c.keystore(), "", public, trust))
}

// list prints a line for each key. An unusable file does not hide the others.
func (c *keyCommand) list(ctx context.Context, infos []sign.KeyInfo, trust *sign.Trust) error {
	var first error
	err := printList(ctx, c.app, nil, []string{"NAME", "KEY", "CREATED"}, func(l *list) error {
		for _, info := range infos {
			if info.Err != nil {
				c.Warn(info.Err)
				first = cmp.Or(first, info.Err)
				continue
			}
			r := keyRowOf(c.keystore(), info.Name, info.Public, trust)
			l.Row(r, texts(r.Name, r.KID, r.Created)...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(infos) == 0 {
		return fault.New(fault.NotFound, fault.NoKey, "no key in %s", c.keystore().Dir).
			WithHints(fault.See("init").Because("--as names the agent of this worktree, and makes its key"))
	}
	return first
}

func (c *keyCommand) print(r keyRow) error {
	return c.Result(r, func(t *output.Lines) {
		for _, line := range [][2]string{
			{"name", r.Name},
			{"key", r.KID},
			{"fingerprint", r.Fingerprint},
			{"user id", r.UserID},
			{"agents", strings.Join(r.Agents, ", ")},
			{"created", r.Created},
			{"where", cmp.Or(r.Where, "trusted here; the private key is elsewhere")},
		} {
			if line[1] != "" {
				t.Line("%-12s %s", line[0], line[1])
			}
		}
	})
}

// pinned finds a trusted key by its id, or by the agent or person that it alone is trusted for. It hints
// at a key with nearly that name.
func (c *keyCommand) pinned(trust *sign.Trust, arg string) (sign.PublicKey, error) {
	var named []string
	for _, e := range trust.Entries() {
		if e.Retired == "" && e.IsFor(arg) {
			named = append(named, e.KID)
		}
	}
	if len(named) > 1 {
		return sign.PublicKey{}, fault.New(fault.Usage, fault.Ambiguous, "%d keys are trusted as %s", len(named), arg).
			WithHints(fault.Fact("their ids are %s", strings.Join(named, ", ")))
	}
	if len(named) == 1 {
		arg = named[0]
	}
	public, err := pin.Pinned(trust, arg)
	if f := fault.As(err); f != nil {
		err = f.WithHints(append(c.keystore().Near(arg), f.Hints...)...)
	}
	return public, err
}

func (c *keyCommand) export(ctx context.Context) error {
	public, err := c.publicKey(ctx)
	if err != nil {
		return err
	}
	return c.Print(func() (any, error) {
		trust, err := c.anyTrust(ctx)
		r := keyRowOf(c.keystore(), "", public, trust)
		r.Public = public.Text()
		return r, err
	}, func(t *output.Lines) error {
		_, err := io.WriteString(t, public.Text())
		return err
	})
}

// publicKey finds a key in the keystore, or else among the trusted ones. No name means the
// signing key of this worktree.
func (c *keyCommand) publicKey(ctx context.Context) (sign.PublicKey, error) {
	if c.name == "" {
		repo, err := c.openRepo(ctx)
		if err != nil {
			return sign.PublicKey{}, err
		}
		agent, err := c.identity(repo)
		if err != nil {
			return sign.PublicKey{}, err
		}
		signer, err := sign.OpenSigner(ctx, c.signerOptions(ctx, repo, agent))
		if err != nil {
			return sign.PublicKey{}, err
		}
		return signer.Public(), nil
	}
	public, err := c.keystore().Public(c.name)
	if code := fault.CodeOf(err); code == fault.NotFound || code == fault.Usage {
		public, err = c.keystore().Public(sign.FromFingerprint(c.name))
	}
	if !fault.Is(err, fault.NoKey) {
		return public, err
	}
	trust, err := c.anyTrust(ctx)
	if err != nil {
		return sign.PublicKey{}, err
	}
	return c.pinned(trust, c.name)
}

// publish puts a public key at a hub. Others pin it by the fingerprint that its owner gives them.
func (c *keyCommand) publish(ctx context.Context) error {
	public, err := c.publicKey(ctx)
	if err != nil {
		return err
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	hub, err := ws.Hub(ctx, c.to)
	if err != nil {
		return err
	}
	ref, err := team.New(ws).PublishKey(ctx, hub, public)
	if err != nil {
		return err
	}
	r := keyRowOf(c.keystore(), "", public, ws.Engine.Keys.Trust)
	r.Ref = ref
	return c.Row(r, "%s", ref)
}
