package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// ownCommit is a commit that the user just made, and that says in trailers who
// goes on with the work.
type ownCommit struct {
	author  string // "Name <mail>"
	at      time.Time
	message string // whole
	subject string
	body    string // of the message, without the trailers

	to                          []string // each Handoff-To, once
	task, goal, summary, status string
}

// id derives from what a rebase, a cherry-pick or an amended commit keeps, so
// that none of them hands the same work over a second time. Two commits with the
// same author, second and message cannot be told from one that was picked: they
// are one handoff.
func (c *ownCommit) id(to string) handoff.ID {
	return handoff.DeriveID(c.at, "commit", c.author, c.message, to)
}

// envelope is what the commit says of the work. A trailer carries no authority,
// and is text: "@FILE" is not read from a file.
func (c *ownCommit) envelope() *handoff.Envelope {
	env := &handoff.Envelope{Task: c.task, Goal: c.goal, Summary: c.summary, Status: handoff.StatusComplete}
	if c.status != "" {
		env.Status = strings.ReplaceAll(c.status, "-", "_")
	}
	if env.Goal == "" {
		env.Goal = c.subject
	}
	switch {
	case env.Summary != "":
	case len(c.body) <= handoff.MaxSummary:
		env.Summary = c.body
	default: // what is too long is not cut
		env.Detail = c.body
	}
	return env
}

// fill adds to a draft what the trailers say and it does not.
func (c *ownCommit) fill(env *handoff.Envelope) {
	env.Task, env.Goal = cmp.Or(env.Task, c.task), cmp.Or(env.Goal, c.goal)
	env.Summary = cmp.Or(env.Summary, c.summary)
	if c.status != "" {
		env.Status = strings.ReplaceAll(c.status, "-", "_")
	}
}

// commitFormat has git itself find the trailers: the last paragraph, by its own
// rules and the user's settings. Fields are ended by NUL, which no message holds.
const commitFormat = "%H%x00%gs%x00%an <%ae>%x00%ae%x00%ce%x00%at%x00%B%x00%s%x00%b%x00%(trailers:only,unfold)"

// ownCommit returns the commit at HEAD if it names a receiver and the user of
// this repository has just made it: the newest entry of HEAD's reflog says
// "commit", not amend, rebase, cherry-pick or merge, and author and committer
// are user.email. Otherwise nil.
func (a *app) ownCommit(ctx context.Context, repo *refs.Repo) (*ownCommit, error) {
	if repo.Head == "" {
		return nil, nil
	}
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{
		"log", "--walk-reflogs", "-1", "--no-show-signature", "--no-color", "--no-decorate", "--encoding=UTF-8",
		"--format=" + commitFormat, "HEAD", "--",
	}})
	if err != nil {
		return nil, fmt.Errorf("read the commit: %w", err)
	}
	f := strings.Split(strings.TrimSuffix(string(out), "\n"), "\x00")
	if len(f) != 10 {
		return nil, a.unlogged(ctx, repo)
	}
	c := readTrailers(f[9])
	made := strings.HasPrefix(f[1], "commit:") || strings.HasPrefix(f[1], "commit (initial):")
	if len(c.to) == 0 || f[0] != repo.Head || !made {
		return nil, nil
	}
	mail := repo.Config.Get("user.email")
	if mail == "" || f[3] != mail || f[4] != mail {
		return nil, fmt.Errorf("the Handoff-To of this commit is passed over: its author and its committer are not both user.email (%s)", mail)
	}
	seconds, err := strconv.ParseInt(f[5], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the time of the commit: %w", err)
	}
	c.author, c.at, c.message, c.subject, c.body = f[2], time.Unix(seconds, 0), f[6], f[7], withoutTrailers(f[8])
	return c, nil
}

// unlogged complains of a trailer that cannot be believed.
func (a *app) unlogged(ctx context.Context, repo *refs.Repo) error {
	const limit = 1 << 20
	o, err := repo.Read(ctx, repo.Head, limit)
	if err == nil && o != nil && bytes.Contains(bytes.ToLower(o.Body), []byte("\nhandoff-to")) {
		return fmt.Errorf("the Handoff-To of this commit is passed over: HEAD has no reflog (core.logAllRefUpdates)")
	}
	return err
}

// readTrailers reads what %(trailers:only,unfold) writes: a line "<key>: <value>"
// for each. Keys are compared as git does, without case; of repeated ones but
// Handoff-To the last counts.
func readTrailers(lines string) *ownCommit {
	c := &ownCommit{}
	for line := range strings.Lines(lines) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(key) {
		case "handoff-to":
			if !slices.Contains(c.to, value) {
				c.to = append(c.to, value)
			}
		case "handoff-task":
			c.task = value
		case "handoff-goal":
			c.goal = value
		case "handoff-summary":
			c.summary = value
		case "handoff-status":
			c.status = value
		}
	}
	return c
}

// withoutTrailers leaves out the last paragraph of a body that has trailers.
func withoutTrailers(body string) string {
	body = strings.TrimSpace(body)
	i := strings.LastIndex(body, "\n\n")
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(body[:i])
}
