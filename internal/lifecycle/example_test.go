package lifecycle_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// A handoff from one agent to another in one repository: it is offered, claimed and
// acknowledged. Each step is an entry of its lane.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lifecycle")
	check(err)
	defer os.RemoveAll(dir)
	run := &gitexec.Runner{Dir: dir, Env: gitexec.Environ([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir})}
	_, err = run.Run(ctx, gitexec.Cmd{Args: []string{"init", "--quiet"}})
	check(err)
	repo, err := refs.Open(ctx, run)
	check(err)
	defer repo.Close()

	investigator, fixer := newKey(ctx), newKey(ctx)
	trust, err := sign.LoadTrust(repo.Own("trust.json"), "")
	check(err)
	for _, entry := range []sign.TrustEntry{
		{KID: investigator.KID(), Key: investigator.Public().Text(), Agents: []string{"investigator"}, Roles: []string{sign.RoleSender}},
		{KID: fixer.KID(), Key: fixer.Public().Text(), Agents: []string{"fixer"}, Roles: []string{sign.RoleRecipient}},
	} {
		check(trust.Add(repo.Own("trust.json"), entry))
	}
	now := time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)
	setup := lifecycle.Setup{
		Repo: repo, Trust: trust, Signer: investigator, Actor: "investigator",
		Now: func() time.Time { return now }, Random: rand.Reader,
		Intents: lifecycle.Intents{Dir: repo.Own("intents")},
	}
	sender := lifecycle.New(setup)
	receiver := sender.As(fixer, "fixer")
	home := &lifecycle.LocalHome{Repo: repo, RepoID: "local:000102030405060708090a0b0c0d0e0f"}

	payload, err := sender.Author.Prepare(ctx, home, envelope(now), "")
	check(err)
	state, err := sender.Offer(ctx, home, payload)
	check(err)
	fmt.Println(state.Phase())

	at := lifecycle.Place{Agent: "fixer", ID: payload.Record.ID}
	var recorded string // the holder records the nonce before the claim is sent
	held, err := receiver.Claim(ctx, home, lifecycle.ClaimRequest{
		Place:  at,
		Record: func(r *record.Record) error { recorded = r.Nonce; return nil },
	})
	check(err)
	fmt.Println(held.State().Phase(), held.Envelope().Goal)

	state, _, err = receiver.Acknowledge(ctx, home, lifecycle.ClaimProof{Place: at, Nonce: recorded}, lifecycle.Outcome{})
	check(err)
	fmt.Println(state.Phase())
	for _, entry := range state.Entries {
		fmt.Println("-", entry.Record().Event, "by", entry.Record().Actor)
	}
	// Output:
	// offered
	// claimed Fix the login
	// ended
	// - offered by investigator
	// - claimed by fixer
	// - acknowledged by fixer
}

func envelope(now time.Time) *handoff.Envelope {
	id, err := handoff.NewID(now, rand.Reader)
	check(err)
	salt, err := handoff.RandomHex(rand.Reader)
	check(err)
	to := "fixer"
	return &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: salt, CreatedAt: handoff.FormatTime(now),
		ExpiresAt: handoff.FormatTime(now.Add(lifecycle.DefaultTTL)),
		Source:    handoff.Source{Agent: "investigator"}, Target: handoff.Target{Agent: &to},
		Status: handoff.StatusComplete, Goal: "Fix the login",
	}
}

func newKey(ctx context.Context) sign.Signer {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	block, err := ssh.MarshalPrivateKey(private, "")
	check(err)
	signer, err := sign.OpenSigner(ctx, sign.Options{Env: strings.TrimSpace(string(pem.EncodeToMemory(block))) + "\n"})
	check(err)
	return signer
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
