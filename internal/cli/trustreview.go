package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"githandoff/internal/app/pin"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/workspace"
)

// reviewCommand walks over the published keys without a decision.
type reviewCommand struct {
	*app
	aliases []string
}

func newTrustReview(a *app) command {
	c := &reviewCommand{app: a}
	return command{
		use:   "review [ALIAS...]",
		short: "Go through keys published at hubs and not trusted here",
		long: `Fetches the keys that are published at the hubs of this clone, or at the hubs named as
ALIAS. It shows each key that is not trusted here: the owner that it claims, and its
fingerprint in groups of four. At a terminal it then asks for the last 16 characters, four
groups; ask the owner for them by telephone or in person. Only with the right ones is the
key trusted, as sender and recipient under the name that it claims. An empty line skips it.
Without a terminal the command only lists the keys.

If you can send the owner a line, githandoff invite needs no fingerprint.`,
		example: []string{
			"githandoff trust review",
			"githandoff trust review --json",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Invalid, fault.Unavailable},
		args:  takesNames(&c.aliases),
		run:   c.run,
	}
}

func (c *reviewCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	unpinned, more, unread, err := team.New(ws).Review(ctx, c.aliases)
	if err != nil {
		return err
	}
	if len(unpinned)+more == 0 && unread == nil {
		c.Say("every published key that was read is trusted here or was refused")
	}
	for _, public := range unpinned {
		if err := c.one(ws, public); err != nil {
			return err
		}
	}
	if more > 0 {
		c.Say("not shown until some of these are trusted: %s", fault.Count(more, "published key"))
	}
	return unread
}

// one shows a key and, at a terminal, asks for a decision.
func (c *reviewCommand) one(ws *workspace.Workspace, public sign.PublicKey) error {
	r := keyRowOf(c.keystore(), "", public, ws.Engine.Keys.Trust)
	name, ok := team.Claimed(public)
	asks := false
	err := c.Result(r, func(t *output.Lines) {
		t.Line("%s\n  %s\n  %s", r.KID, team.Says(public), r.Fingerprint)
		asks = ok && c.attended()
		if !asks {
			t.Then(func() { c.Hint(team.PinHint(public)) })
		}
	})
	if err != nil || !asks {
		return err
	}
	typed, err := askShown(fmt.Sprintf("last %d characters of the fingerprint, as the owner of %s reads them out (empty to skip): ", pin.Compared, name))
	if err != nil || len(typed) == 0 {
		return err
	}
	h := &pin.Handler{Trust: ws.Engine.Keys.Trust, Path: ws.Repo.Own(trustFile)}
	if name, err = h.Confirm(public, string(typed)); err != nil {
		return err
	}
	c.Say("%s is trusted as %s", r.KID, name)
	return nil
}

// askShown asks on the terminal for one line.
func askShown(prompt string) ([]byte, error) {
	line, err := ask("fingerprint", prompt, func(tty *os.File) ([]byte, error) {
		line := make([]byte, 256) // a terminal gives one line at a time
		n, err := tty.Read(line)
		return line[:n], err
	})
	return bytes.TrimSpace(line), err
}
