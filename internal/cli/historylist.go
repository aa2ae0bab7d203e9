package cli

import (
	"context"
	"strings"

	"githandoff/internal/app/history"
	"githandoff/internal/cli/output"
	"githandoff/internal/handoff"
	"githandoff/internal/prompt"
	"githandoff/internal/receipt"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// list prints ended handoffs for a person: a row each, with the results at its end.
func (c *historyCommand) list(ctx context.Context, d *workspace.Workspace, ended []*history.Past, keys []string) error {
	ids := make([]handoff.ID, len(ended))
	for i, p := range ended {
		ids[i] = p.ID
	}
	ends, err := endsFor(ctx, c.app, d, ids...)
	if err != nil {
		return err
	}
	header := []string{"HANDOFF", "STATE", "FROM", "TO", "TASK", "ENDED", "TOOK", "RESULTS"}
	return printList(ctx, c.app, d.Repo, header, func(l *list) error {
		l.ends = ends
		for _, p := range ended {
			if err := l.Row(nil, c.pastCells(l, p, keys)...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *historyCommand) pastCells(l *list, p *history.Past, keys []string) []output.Cell {
	return append([]output.Cell{l.id(p.ID), output.State(p.State)}, texts(
		untrusted.Name(p.Offer.From), untrusted.Name(p.To), untrusted.Task(p.Offer.Task),
		output.Ago(c.Now(), p.Receipt.At), p.Duration(c.Now()), resultsInRow(p.Receipt.Data, keys),
	)...)
}

// widestResults is how many characters a list shows of results; "--json" has all.
const widestResults = 60

// resultsInRow are the results of a receipt as one cell of a list. Of a commit it shows
// as much as git does.
func resultsInRow(data string, keys []string) string {
	var shown []string
	all := receipt.DecodeResults(data)
	for _, k := range prompt.Chosen(all, keys) {
		value := strings.Join(strings.Fields(all[k]), " ")
		if handoff.IsHex(value, 40) || handoff.IsHex(value, 64) {
			value = value[:10]
		}
		shown = append(shown, k+"="+value)
	}
	return output.Cut(strings.Join(shown, "  "), widestResults)
}
