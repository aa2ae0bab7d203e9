package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/move"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

func newOBO(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "obo",
		Short: "On whose behalf an agent works: issue, show and check tokens",
		Long: `A token says: a person lets an agent do something, at a repository, until a
time, for one handoff. It lies beside the handoff, signed by that person's key, and
is worth nothing without a key of the agent. "githandoff emit --on-behalf-of" makes
one with the handoff; what the agent sends on carries a token that follows from it
and only takes away.`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newOBOIssue(a), newOBOShow(a), newOBOCheck(a))
	return cmd
}

// oboIssueCommand is "obo issue".
type oboIssueCommand struct {
	*app
}

func newOBOIssue(a *app) *cobra.Command {
	c := &oboIssueCommand{app: a}
	var f authorityFlags
	cmd := &cobra.Command{
		Use:   "issue ID --on-behalf-of MAIL --scope S...",
		Short: "Give a handoff that waits the authority of a person",
		Long: `A handoff is signed as a whole, so that authority cannot be added to it. This
ends one that nobody holds, and offers its agent a child with the same content
and a token, in one step, signed by a root key of the person. The id of the
child is printed. So authority that ran out while a handoff waited is renewed.`,
		Args: exactArgs(1, "an ID"),

		ValidArgsFunction: completions{a}.ids(completions{a}.open),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], &f) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (c *oboIssueCommand) run(ctx context.Context, arg string, f *authorityFlags) error {
	if f.OnBehalfOf == "" {
		return usage("name the person who lends authority").WithHints(fault.See("obo issue").Because("--on-behalf-of names the person, --scope what may be done"))
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	root, authority, err := senderOf(c.app, d).Authority(ctx, "", (*emit.Wanted)(f))
	if err != nil {
		return err
	}
	found, err := d.Find(ctx, arg, workspace.Never)
	if err != nil {
		return err
	}
	if err := found.State.Err(); err != nil {
		return err
	}
	to := found.State.To
	if to == refs.Nobody {
		return usage("%s waits for a decision: no agent is chosen that could have authority", found.State.ID).
			WithHints(fault.Run("githandoff", "route", string(found.State.ID)).Because("shows how to decide it"))
	}
	if root != nil {
		d = d.As(root.Signer, root.Actor)
	}
	done, err := move.New(d).Reroute(ctx, move.Request{
		Arg: string(found.State.ID), Agent: &to, Home: found.Home, Reason: "with the authority of " + authority.Principal, Authority: authority,
	})
	return printMoved(c.app, done, err)
}

// oboShowCommand is "obo show".
type oboShowCommand struct {
	*app
}

func newOBOShow(a *app) *cobra.Command {
	c := &oboShowCommand{app: a}
	return &cobra.Command{
		Use:   "show [ID]",
		Short: "Show the tokens of a handoff, from the person's to the last",
		Long: `Verifies the handoff and its tokens, asks the homes whether one was revoked, and
prints what each token says and whose key signed it. Without an ID the one that
is held is meant. The exit code is 4 if they are worth nothing now.

Stock tools agree: the exact bytes and their signature are in the payload commit,
and "githandoff trust export DIR" writes what gpg and ssh-keygen trust.

  git cat-file blob REF:obo/0.json >0.json
  git cat-file blob REF:obo/0.sig >0.sig
  gpgv --keyring DIR/pubring.gpg 0.sig 0.json
  ssh-keygen -Y verify -f DIR/allowed_signers -I NAME -n obo@githandoff -s 0.sig <0.json`,
		Args: atMostArgs(1, "at most one ID"),

		ValidArgsFunction: completions{a}.ids(completions{a}.open),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), firstArg(args)) },
	}
}

func (c *oboShowCommand) run(ctx context.Context, arg string) error {
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	if arg == "" {
		h, err := d.Work().Current()
		if err != nil {
			return err
		}
		arg = string(h.ID)
	}
	f, err := d.Find(ctx, arg, workspace.Never)
	if err != nil {
		return err
	}
	v, err := d.Engine.Verifier.Verify(ctx, f.Home, f.State, lifecycle.Options{AllowExpired: true, Lapsed: true})
	if err != nil {
		return err
	}
	if len(v.Links()) == 0 {
		return fault.New(fault.NotFound, fault.NoToken, "handoff %s carries no token", f.State.ID).
			WithHints(fault.See("obo issue").Because("a person lends authority to a waiting handoff"))
	}
	if err := c.print(d, v); err != nil {
		return err
	}
	return v.Lapse()
}

func (c *oboShowCommand) print(d *workspace.Workspace, v *lifecycle.Verified) error {
	chain := make([]*obo.Claims, 0, len(v.Links()))
	for _, l := range v.Links() {
		c, err := obo.Decode(l.Token)
		if err != nil {
			return err
		}
		chain = append(chain, c)
	}
	verdict := "ok"
	if f := fault.As(v.Lapse()); f != nil {
		verdict = string(f.Reason)
	}
	leaf := chain[len(chain)-1]
	row := chainRow{Chain: chain, ID: v.Envelope().ID, Principal: leaf.Subject, Token: leaf.JTI, Verdict: verdict}
	return c.Result(row, func(t *output.Lines) { chainText(t, d, chain) })
}

// chainText tells of each token of a chain, from the person's to the last.
func chainText(t *output.Lines, d *workspace.Workspace, chain []*obo.Claims) {
	for i, c := range chain {
		t.Line("%d %s", i, c.JTI)
		for _, l := range [][2]string{
			{"handoff", string(c.Handoff.ID)},
			{"lets", c.Actor.Subject + ", with " + strings.Join(c.Confirmation.Keys, " or ")},
			{"act for", c.Subject},
			{"scope", listed(c.Scope)},
			{"at", listed(c.Audience)},
			{"until", fmt.Sprintf("%s, from %s", stampOf(c.ExpiresAt), stampOf(c.IssuedAt))},
			{"may pass on", fault.Count(c.MaxDepth, "time")},
			{"signed by", c.Issuer + " (trusted here as " + trustedAs(d, c.Issuer) + ")"},
		} {
			t.Line("  %-12s %s", l[0]+":", l[1])
		}
	}
}

// listed joins what others chose so that one cannot look like two, nor like another
// one: what is not plain stands in quotes, with every foreign letter escaped.
func listed(list []string) string {
	shown := make([]string, len(list))
	for i, s := range list {
		shown[i] = s
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`,"\`, r) }) {
			shown[i] = strconv.QuoteToASCII(s)
		}
	}
	return strings.Join(shown, ", ")
}

func stampOf(seconds int64) string { return handoff.FormatTime(time.Unix(seconds, 0)) }

// trustedAs says under which names a key is pinned here.
func trustedAs(d *workspace.Workspace, kid string) string {
	key, _ := d.Engine.Keys.Trust.Lookup(kid)
	e := key.Entry()
	names := strings.Join(append(append([]string{}, e.Agents...), e.Principals...), ", ")
	if names == "" {
		return "nobody"
	}
	return names
}
