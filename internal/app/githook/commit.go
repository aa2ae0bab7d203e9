package githook

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/handoff"
)

// Commit is a commit that the user just made, and that says in trailers who
// goes on with the work.
type Commit struct {
	author  string // "Name <mail>"
	at      time.Time
	message string // the whole message
	subject string
	body    string // body of the message, without the trailers
	twin    int    // number of commits just before that would derive the same id, see countTwins

	To                  []string // receivers in Handoff-To trailers, each once
	Status              string   // value of Handoff-Status, as spelled there
	Snapshot            string   // value of Handoff-Snapshot, as spelled there: yes or no
	task, goal, summary string
}

// ID derives from the parts that a rebase, a cherry-pick or an amend keeps, so that none of
// them hands the same work over a second time. Its time is part of the hash as well: people
// are shown the end of an id, and two commits with one message must not end alike. twin
// tells commits apart that agree in all of that.
func (c *Commit) ID(to string) handoff.ID {
	parts := []string{"commit", c.author, strconv.FormatInt(c.at.Unix(), 10), c.message, to}
	if c.twin > 0 {
		parts = append(parts, strconv.Itoa(c.twin))
	}
	return handoff.DeriveID(c.at, parts...)
}

// Envelope returns the handoff that the trailers of the commit describe. A trailer carries no
// authority, and is text: "@FILE" is not read from a file.
func (c *Commit) Envelope() *handoff.Envelope {
	env := &handoff.Envelope{Status: handoff.StatusComplete}
	c.Fill(env)
	env.Goal = cmp.Or(env.Goal, c.subject)
	switch {
	case env.Summary != "":
	case len(c.body) <= handoff.MaxSummary:
		env.Summary = c.body
	default: // too long for a summary: nothing is cut
		env.Detail = c.body
	}
	return env
}

// Fill completes a draft from the trailers: the task, the goal and the summary if the draft has none, and
// the status.
func (c *Commit) Fill(env *handoff.Envelope) {
	env.Task, env.Goal = cmp.Or(env.Task, c.task), cmp.Or(env.Goal, c.goal)
	env.Summary = cmp.Or(env.Summary, c.summary)
	if c.Status != "" {
		env.Status = strings.ReplaceAll(c.Status, "-", "_")
	}
}

// readTrailers reads the output of %(trailers:only,unfold): a line "<key>: <value>" for each. Keys
// are compared as git does, without case. The last of several counts, except for Handoff-To.
func readTrailers(lines string) *Commit {
	c := &Commit{}
	for line := range strings.Lines(lines) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(key) {
		case "handoff-to":
			if !slices.Contains(c.To, value) {
				c.To = append(c.To, value)
			}
		case "handoff-task":
			c.task = value
		case "handoff-goal":
			c.goal = value
		case "handoff-summary":
			c.summary = value
		case "handoff-status":
			c.Status = value
		case "handoff-snapshot":
			c.Snapshot = value
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
