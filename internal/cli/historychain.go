package cli

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/app/history"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

func (c *historyCommand) chain(ctx context.Context) error {
	if c.format != "list" && !slices.Contains(historyFormats(), c.format) {
		return unknownHistoryFormat(c.format)
	}
	d, err := c.desk(ctx, reads)
	if err != nil {
		return err
	}
	read := c.unread(d)
	first, err := history.New(d).Chain(ctx, c.id)
	if f := fault.As(err); f != nil && (f.Reason == fault.InvalidID || f.Reason == fault.UnknownHandoff) {
		named := *f
		err = named.WithHints(
			fault.Run("githandoff", "history", "--task", c.id).Because("if that is the key of a task"),
			fault.Run("githandoff", "inbox", "--all").Because("lists open handoffs"))
	}
	if err != nil {
		return read(err)
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
	return read(paged(ctx, c.app, d.Repo, func() error {
		_, err := c.Stdout.Write([]byte(text))
		return err
	}))
}

func (c *historyCommand) chainJSON(first *history.Past) string {
	b := &strings.Builder{}
	history.Walk(first, nil, func(p, above *history.Past) {
		r := c.row(p, nil)
		if above != nil {
			r.Parent = above.ID
		}
		c.Encode(b, r)
	})
	return b.String()
}
