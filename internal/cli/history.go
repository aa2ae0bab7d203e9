package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/history"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/prompt"
	"githandoff/internal/receipt"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// historyFlags choose among ended handoffs.
type historyFlags struct {
	limit       int
	phases      []string
	keys        []string
	task, agent string

	set *pflag.FlagSet
}

const maxHistory = 20

func (h *historyFlags) register(f *pflag.FlagSet) {
	h.set = f
	f.IntVarP(&h.limit, "limit", "n", 5, "show at most `N`, 1 to 20")
	f.StringSliceVar(&h.phases, "phases", nil, "only handoffs with these outcomes: `Succeeded,Failed`")
	f.StringSliceVar(&h.keys, "include-keys", nil, "only these results, in this order: `KEY,KEY`")
	f.StringVar(&h.task, "task", "", "only handoffs of the task `KEY`")
	f.StringVar(&h.agent, "agent", "", "only handoffs sent, received or ended by `AGENT`")
}

// given names a flag of the command line for a history.
func (h *historyFlags) given() string {
	for _, name := range []string{"limit", "phases", "include-keys", "task", "agent"} {
		if h.set.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

func (h *historyFlags) check() error {
	if h.limit < 1 || h.limit > maxHistory {
		return usage("--limit %d: want 1 to %d", h.limit, maxHistory)
	}
	for i, p := range h.phases {
		switch strings.ToLower(p) {
		case "succeeded":
			h.phases[i] = history.Succeeded
		case "failed":
			h.phases[i] = history.Failed
		default:
			return usage("--phases %s: want Succeeded, Failed or both", untrusted.Line(p))
		}
	}
	return nil
}

// past lists the ended handoffs selected by the flags, at most limit.
func (h *historyFlags) past(ctx context.Context, ws *workspace.Workspace, limit int) ([]*history.Past, error) {
	return history.New(ws).Ended(ctx, limit, func(p *history.Past) bool {
		return (len(h.phases) == 0 || slices.Contains(h.phases, p.Phase())) && p.About(h.task, h.agent)
	})
}

// told turns ended handoffs into the entries of a history; who adds the id and the agents,
// for people.
func told(list []*history.Past, who bool, now time.Time) []prompt.PastTask {
	var told []prompt.PastTask
	for _, p := range list {
		name := p.Offer.Task
		if !untrusted.IsTask(name) {
			name = string(p.ID)
		}
		names := ""
		if who {
			names = fmt.Sprintf("%s %s → %s", p.ID, p.Offer.From, p.To)
		}
		told = append(told, prompt.PastTask{
			Who:  names,
			Task: name, Phase: p.Phase(), At: p.Receipt.At, Duration: p.Duration(now),
			Results: receipt.DecodeResults(p.Receipt.Data),
		})
	}
	return told
}

// historyCommand is "history".
type historyCommand struct {
	*app
	historyFlags
	id, format string
}

func newHistory(a *app) command {
	c := &historyCommand{app: a}
	return command{
		use:     "history [ID]",
		suggest: []string{"log"},
		short:   "List ended handoffs and their results, or draw the chain of one",
		long: `Without an ID: lists ended handoffs, newest first, with the results in their receipts
and the time from claim to receipt. Acknowledged handoffs have Succeeded. Those that
failed, were revoked or expired have Failed. A rerouted handoff continues under another
id, and only that one is listed. The list is read from the log, so it outlives the
content. Entries without a valid signature by an authorized key are left out ("githandoff
audit" reports them).

On a terminal this is a list; --format text prints the text for a prompt.

With an ID: draws the whole chain of that handoff, as text, JSON, or a Mermaid or
Graphviz diagram. Each handoff stands below the agent that received it.`,
		example: []string{
			"githandoff history --phases Failed --include-keys error,summary",
			"githandoff history 7k3m2q --format mermaid",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		args:  takesID(0, &c.id),
		flags: func(f *pflag.FlagSet) {
			c.register(f)
			f.StringVar(&c.format, "format", "text", "print `FORMAT`: text, json, or for a chain mermaid or dot")
		},
		values: map[string][]string{"format": historyFormats()},
		run:    c.run,
	}
}

func historyFormats() []string { return []string{"text", "json", "mermaid", "dot"} }

func (c *historyCommand) run(ctx context.Context) error {
	if c.Terminal() && !c.set.Changed("format") {
		c.format = "list"
	}
	if c.JSON {
		c.format = "json"
	}
	flag := c.given()
	switch {
	case c.id != "" && flag != "":
		return usage("%s takes no ID", flag).
			WithHints(fault.Run("githandoff", "history", c.id).Because("draws the whole chain"))
	case c.format != "list" && !slices.Contains(historyFormats(), c.format):
		return usage("unknown format %q", c.format).
			WithHints(fault.Fact("the formats are %s", strings.Join(historyFormats(), ", ")))
	case c.id != "":
		return c.chain(ctx)
	}
	return c.ended(ctx)
}

// ended prints the ended handoffs.
func (c *historyCommand) ended(ctx context.Context) error {
	format := c.format
	if format == "mermaid" || format == "dot" {
		return usage("--format %s draws the chain of one handoff: give its id", format).
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists ids"))
	}
	if err := c.check(); err != nil {
		return err
	}
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	read := c.unread(ws)
	list, err := c.past(ctx, ws, c.limit+1) // one more shows whether any are left out
	if len(list) > c.limit {
		list = list[:c.limit]
		more := "githandoff audit lists all"
		if c.limit < maxHistory {
			more = fmt.Sprintf("--limit %d lists more", maxHistory)
		}
		c.Say("githandoff: older ones are left out (%s)", more)
	}
	if err == nil && len(list) == 0 && c.agent != "" {
		adviseNothingOf(c.app, ws, c.agent)
	}
	switch {
	case err != nil || len(list) == 0:
	case format == "list":
		err = c.list(ctx, ws, list)
	case format == "json":
		for _, p := range list {
			c.Encode(c.Stdout, c.row(p))
		}
	default:
		_, err = fmt.Fprintln(c.Stdout, prompt.History(told(list, true, c.Now()), c.keys))
	}
	return read(err)
}

// pastRow is the JSON object of a handoff in a history.
type pastRow struct {
	row
	Phase    string `json:"phase,omitempty"` // Succeeded, Failed, or empty while it is open
	Duration string `json:"duration"`        // time from the claim to the end, as 1m02s
}

func (c *historyCommand) row(p *history.Past) pastRow {
	out := pastRow{row: row{ID: p.ID, State: p.State}, Phase: p.Phase(), Duration: p.Duration(c.Now())}
	rec := p.Offer
	switch {
	case p.Receipt != nil:
		rec = p.Receipt
	case p.Claim != nil:
		rec = p.Claim
	}
	if rec == nil {
		return out
	}
	out.row = rowOf(rec, p.State)
	out.To, out.Parent = p.To, p.Offer.Parent
	if p.Receipt != nil {
		all := receipt.DecodeResults(p.Receipt.Data)
		out.Results = map[string]string{}
		for _, k := range prompt.Chosen(all, c.keys) {
			out.Results[k] = all[k]
		}
	}
	return out
}

func (c *historyCommand) chain(ctx context.Context) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	read := c.unread(ws)
	first, err := history.New(ws).Chain(ctx, c.id)
	if err != nil {
		return read(orEnded(err))
	}
	var ids []handoff.ID
	history.Walk(first, nil, func(p, _ *history.Past) { ids = append(ids, p.ID) })
	text, draw := "", &history.Drawing{Ends: handoff.EndsOf(ids), Now: c.Now()}
	switch c.format {
	case "json":
		text = c.chainJSON(first)
	case "mermaid":
		text = draw.Mermaid(first)
	case "dot":
		text = draw.DOT(first)
	default:
		text = draw.Text(first)
	}
	return read(paged(ctx, c.app, ws.Repo, func() error {
		_, err := c.Stdout.Write([]byte(text))
		return err
	}))
}

func (c *historyCommand) chainJSON(first *history.Past) string {
	b := &strings.Builder{}
	history.Walk(first, nil, func(p, above *history.Past) {
		r := c.row(p)
		if above != nil {
			r.Parent = above.ID
		}
		c.Encode(b, r)
	})
	return b.String()
}

// list prints ended handoffs for a person: a row each, with the results at its end.
func (c *historyCommand) list(ctx context.Context, ws *workspace.Workspace, ended []*history.Past) error {
	ends, err := endsAmong(ctx, c.app, ws, ended, func(p *history.Past) handoff.ID { return p.ID })
	if err != nil {
		return err
	}
	header := []string{"HANDOFF", "STATE", "FROM", "TO", "TASK", "ENDED", "TOOK", "RESULTS"}
	return printList(ctx, c.app, ws.Repo, header, func(l *list) error {
		l.ends = ends
		for _, p := range ended {
			cells := append([]output.Cell{l.id(p.ID), output.State(p.State)}, texts(
				untrusted.Name(p.Offer.From), untrusted.Name(p.To), untrusted.Task(p.Offer.Task),
				output.Ago(c.Now(), p.Receipt.At), p.Duration(c.Now()), resultsInRow(p.Receipt.Data, c.keys),
			)...)
			l.Cells(cells...)
		}
		return nil
	})
}

// widestResults is how many characters a list shows of results; "--json" has all.
const widestResults = 60

// resultsInRow returns the results of a receipt as one cell of a list. Of a commit it shows
// as much as git does.
func resultsInRow(data string, keys []string) string {
	var shown []string
	all := receipt.DecodeResults(data)
	for _, k := range prompt.Chosen(all, keys) {
		value := strings.Join(strings.Fields(all[k]), " ")
		if gitobj.IsID(value) {
			value = value[:10]
		}
		shown = append(shown, k+"="+value)
	}
	return output.Cut(strings.Join(shown, "  "), widestResults)
}
