package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/inspect"
	"githandoff/internal/app/move"
	"githandoff/internal/app/pushcheck"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

func newOBO(a *app) command {
	return command{
		use:   "obo",
		short: "Issue, show and check tokens, with which an agent acts on behalf of a person",
		long: `A token states that a person lets an agent do something, at a repository, until a time,
for one handoff. It is part of the handoff, is signed by that person's key, and is worth
nothing without the agent's key. "githandoff emit --on-behalf-of" makes one with the
handoff. When the agent sends work on, the new token can only be narrower.`,
		example: []string{"githandoff obo show"},
		sub: []command{
			newOBOIssue(a),
			newOBOShow(a),
			newOBOCheck(a),
		},
	}
}

// oboIssueCommand is "obo issue".
type oboIssueCommand struct {
	*app
	id string
	emit.Wanted
}

func newOBOIssue(a *app) command {
	c := &oboIssueCommand{app: a}
	return command{
		use:   "issue ID --on-behalf-of MAIL --scope S...",
		short: "Give a waiting handoff the authority of a person",
		long: `A handoff is signed as a whole, so authority cannot be added to it. This command ends a
handoff that nobody holds, and offers its agent a child with the same content and a
token, in one step, signed by a root key of the person. It prints the id of the child.
It also renews authority that ran out while a handoff waited.`,
		example:  []string{"githandoff obo issue 7k3m2q --on-behalf-of alice@example.com --scope 'repo.write:src/auth/*'"},
		args:     takesID(1, &c.id),
		complete: completions{a}.openIDs,
		flags:    func(f *pflag.FlagSet) { authorityVars(f, &c.Wanted) },
		run:      c.run,
	}
}

func (c *oboIssueCommand) run(ctx context.Context) error {
	if c.OnBehalfOf == "" {
		return needs(c.app, "obo issue", "--on-behalf-of MAIL", "")
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	root, authority, err := senderOf(c.app, ws).Authority(ctx, "", &c.Wanted)
	if err != nil {
		return err
	}
	if root != nil {
		ws = ws.As(root.Signer, root.Actor)
	}
	done, err := move.New(ws).Authorize(ctx, c.id, authority)
	return printMoved(c.app, done, err)
}

// oboShowCommand is "obo show".
type oboShowCommand struct {
	*app
	id string
}

func newOBOShow(a *app) command {
	c := &oboShowCommand{app: a}
	return command{
		use:     "show [ID]",
		suggest: []string{"list", "ls"},
		short:   "Show the tokens of a handoff, from the person's to the last",
		long: `Verifies the handoff and its tokens, asks the homes whether one was revoked, and prints
the content of each token and the key that signed it. Without an ID it shows the held
handoff. If the tokens are not valid now, the exit code is 4.

Stock tools agree: the exact bytes and their signature are in the payload commit,
and "githandoff trust export DIR" writes the keys for gpg and ssh-keygen.

  git cat-file blob REF:obo/0.json >0.json
  git cat-file blob REF:obo/0.sig >0.sig
  gpgv --keyring DIR/pubring.gpg 0.sig 0.json
  ssh-keygen -Y verify -f DIR/allowed_signers -I NAME -n obo@githandoff -s 0.sig <0.json`,
		example: []string{
			"githandoff obo show",
			"githandoff obo show 7k3m2q --json",
		},
		exits:    []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		args:     takesID(0, &c.id),
		complete: completions{a}.openIDs,
		run:      c.run,
	}
}

func (c *oboShowCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	v, chain, err := inspect.New(ws).Tokens(ctx, c.id)
	if err != nil {
		return err
	}
	verdict := "ok"
	if f := fault.As(v.Lapse()); f != nil {
		verdict = string(f.Reason)
	}
	leaf := chain[len(chain)-1]
	row := chainRow{Chain: chain, ID: v.Envelope().ID, Principal: leaf.Subject, Token: leaf.JTI, Verdict: verdict}
	fenced, err := c.textsOf(chain)
	if err != nil {
		return err
	}
	if err := c.Result(row, func(t *output.Lines) {
		chainText(t, ws, chain)
		_, _ = t.Write(fenced) // Write of Lines never fails
	}); err != nil {
		return err
	}
	return v.Lapse()
}

// chainText tells of each token of a chain, from the person's to the last.
func chainText(t *output.Lines, ws *workspace.Workspace, chain []*obo.Claims) {
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
			{"signed by", c.Issuer + " (trusted here as " + trustedAs(ws, c.Issuer) + ")"},
		} {
			t.Line("  %-12s %s", l[0]+":", l[1])
		}
	}
}

// listed joins words chosen by others. No word can look like two, or like another one: a text
// stands in the fence below.
func listed(list []string) string {
	shown := make([]string, len(list))
	for i, s := range list {
		shown[i] = untrusted.Place(s)
	}
	return strings.Join(shown, ", ")
}

// textsOf returns the scopes and audiences of a chain that are texts, in a fence, a line each:
// quoted, with every foreign letter escaped.
func (c *oboShowCommand) textsOf(chain []*obo.Claims) ([]byte, error) {
	var b strings.Builder
	for i, token := range chain {
		for _, l := range []struct {
			name string
			list []string
		}{{"scope", token.Scope}, {"at", token.Audience}} {
			for _, s := range l.list {
				if untrusted.Place(s) != s {
					fmt.Fprintf(&b, "%d %s: %s\n", i, l.name, strconv.QuoteToASCII(s))
				}
			}
		}
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return untrusted.Fence(c.Random, b.String(), "written in these tokens")
}

func stampOf(seconds int64) string { return handoff.FormatTime(time.Unix(seconds, 0)) }

// trustedAs says under which names a key is pinned here.
func trustedAs(ws *workspace.Workspace, kid string) string {
	key, _ := ws.Engine.Keys.Trust.Lookup(kid)
	e := key.Entry()
	return cmp.Or(strings.Join(slices.Concat(e.Agents, e.Principals), ", "), "nobody")
}

// authorityVars declares the flags for the authority of the receiver.
func authorityVars(flags *pflag.FlagSet, w *emit.Wanted) {
	flags.StringVar(&w.OnBehalfOf, "on-behalf-of", "", "let the receiver act for the person `MAIL`; signed with their key")
	flags.StringArrayVar(&w.Scope, "scope", nil, "let the receiver do `ACTION[:TARGET]`, such as repo.write:src/auth/*; repeatable")
	flags.StringArrayVar(&w.Audience, "audience", nil, "let the authority hold in the repository `ALIAS` as well; repeatable")
}

type oboCheckCommand struct {
	*app

	pushcheck.Query
	push bool
}

func newOBOCheck(a *app) command {
	c := &oboCheckCommand{app: a}
	return command{
		use:   "check [ID] --scope S...",
		short: "Check whether a held token allows something: exit code 0 or 7",
		long: `Checks whether the token of a held handoff allows every scope that is named: for an
agent's own tools, and for hooks. If it does, nothing is printed. The check uses the
claim, the token and its revocations as this clone knows them; it asks no hub. The exit
code is 7 unless one valid claim allows all of them.

With --push, the scopes are those that a push needs: repo.push of each ref, and
repo.write of each path that its new commits change, under the old name and the new
one. Standard input is then the input that git gives a pre-push hook. This is local
advice; the hub's own hook enforces it (githandoff hook install --server).`,
		example: []string{"githandoff obo check --scope repo.write:go.mod"},
		exits:   []fault.Code{fault.Denied, fault.Invalid, fault.Policy, fault.Unavailable},
		args:    takesID(0, &c.Arg),
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&c.Scopes, "scope", nil, "`ACTION[:TARGET]` to check, such as repo.write:src/a.go")
			f.BoolVar(&c.IfHeld, "if-held", false, "allow everything if no held handoff carries authority")
			f.BoolVar(&c.push, "push", false, "check the push on standard input")
		},
		run: c.run,
	}
}

func (c *oboCheckCommand) run(ctx context.Context) error {
	if len(c.Scopes) == 0 && !c.push {
		return needs(c.app, "obo check", "--scope ACTION[:TARGET] or --push", noID(c.Arg))
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	if c.push {
		c.Push = c.input
	}
	live, scopes, err := c.Ask(ctx, repo, c.live)
	if err != nil || live == nil {
		return err
	}
	row := allowedRow{live.Claim.ID, live.Token.JTI(), scopes, handoff.FormatTime(live.Claim.Lease), handoff.FormatTime(live.Token.Expires())}
	return c.Result(row, func(*output.Lines) {}) // the exit code is the answer
}

func (c *oboCheckCommand) live(ctx context.Context, arg string) (*work.Live, error) {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return nil, err
	}
	return ws.Work().Live(ctx, arg)
}
