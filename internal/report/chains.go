package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// chain is a drawing of handoffs following from one another, left to right.
type chain struct {
	Title         string
	Width, Height int
	Nodes         []node
	Edges         []edge
	Left          int // number of handoffs not drawn
}

type node struct {
	X, Y                int
	ID                  string // empty for the agent at which the chain begins
	Agent, Short, State string
	Class               State
	Label               string // description of the first agent, for readers who do not see the drawing
}

type edge struct {
	Path  string
	X, Y  int // position of the label
	Label string
	Arrow string // path of the arrowhead
}

const (
	maxChains = 40
	maxNodes  = 60 // nodes in one chain
	maxDepth  = 64
	maxName   = 19 // characters that fit into a box

	nodeW, nodeH = 150, 58
	stepX, stepY = 230, 78
	margin       = 8
)

// family is a row with its followers.
type family struct {
	row      *Row
	children []*family
}

// chainsOf draws every chain of two handoffs or more, the one with the latest step
// first.
func chainsOf(rows []Row, now time.Time) (chains []chain, left int) {
	roots := slices.DeleteFunc(rootsOf(rows), func(f *family) bool { return len(f.children) == 0 })
	last := map[*family]time.Time{}
	for _, f := range roots {
		last[f] = f.latest(map[*family]bool{})
	}
	slices.SortFunc(roots, func(a, b *family) int {
		return cmp.Or(last[b].Compare(last[a]), cmp.Compare(a.row.ID, b.row.ID))
	})
	roots, left = first(roots, maxChains)
	for _, f := range roots {
		chains = append(chains, draw(f, now))
	}
	return chains, left
}

// rootsOf links rows by their parents. If handoffs name each other in a circle, one becomes
// the root, and the circle is cut.
func rootsOf(rows []Row) []*family {
	byID := map[string]*family{}
	var all, roots []*family
	for i := range rows {
		f := &family{row: &rows[i]}
		all = append(all, f)
		byID[rows[i].ID] = f
	}
	for _, f := range all {
		if above := byID[f.row.Parent]; above != nil && !circular(byID, f) {
			above.children = append(above.children, f)
			continue
		}
		roots = append(roots, f)
	}
	for _, f := range all {
		slices.SortFunc(f.children, func(a, b *family) int {
			return cmp.Or(a.row.Offered.Compare(b.row.Offered), cmp.Compare(a.row.ID, b.row.ID))
		})
	}
	return roots
}

func circular(byID map[string]*family, f *family) bool {
	at := f
	for range maxDepth {
		if at = byID[at.row.Parent]; at == nil {
			return false
		}
		if at == f {
			return true
		}
	}
	return true
}

func (f *family) latest(seen map[*family]bool) time.Time {
	if seen[f] {
		return time.Time{}
	}
	seen[f] = true
	at := f.row.Offered
	for _, t := range []time.Time{f.row.Claimed, f.row.Ended} {
		if t.After(at) {
			at = t
		}
	}
	for _, c := range f.children {
		if t := c.latest(seen); t.After(at) {
			at = t
		}
	}
	return at
}

// drawing is a chain while it is laid out. Each leaf takes a row of its own.
type drawing struct {
	chain
	now  time.Time
	next int // next free row
}

func draw(f *family, now time.Time) chain {
	d := &drawing{now: now}
	d.Title = "handoff " + f.row.Name()
	if f.row.Task != "" {
		d.Title = f.row.Task
	}
	start := node{X: margin, Agent: clip(maxName, f.row.From), Label: f.row.From + " began the chain"}
	d.Nodes = append(d.Nodes, start)
	y := d.add(f, 1)
	d.Nodes[0].Y = y
	d.edge(0, 1, waited(f.row, now))
	for _, n := range d.Nodes {
		d.Width, d.Height = max(d.Width, n.X+nodeW+margin), max(d.Height, n.Y+nodeH+margin)
	}
	return d.chain
}

// add lays out a handoff and its followers, and returns its height.
func (d *drawing) add(f *family, depth int) int {
	at := len(d.Nodes)
	d.Nodes = append(d.Nodes, d.node(f.row, depth))
	y := -1
	for _, c := range f.children {
		if len(d.Nodes) >= maxNodes || depth >= maxDepth {
			d.Left++
			continue
		}
		child := len(d.Nodes)
		cy := d.add(c, depth+1)
		if y < 0 {
			y = cy
		}
		defer d.edge(at, child, waited(c.row, d.now))
	}
	if y < 0 {
		y = margin + d.next*stepY
		d.next++
	}
	d.Nodes[at].Y = y
	return y
}

func (d *drawing) node(r *Row, depth int) node {
	n := node{X: margin + depth*stepX, ID: r.ID, Agent: clip(maxName, worker(r)), Short: r.Name(), State: string(r.State), Class: r.State}
	if took := worked(r, d.now); took != "" {
		n.State += " " + took
	}
	n.State = clip(22, n.State)
	return n
}

// edge draws the way from one node to another, with its label at the end.
func (d *drawing) edge(from, to int, label string) {
	a, b := d.Nodes[from], d.Nodes[to]
	x1, y1, x2, y2 := a.X+nodeW, a.Y+nodeH/2, b.X, b.Y+nodeH/2
	mid := x1 + 24
	path := fmt.Sprintf("M%d %dH%dV%dH%d", x1, y1, mid, y2, x2-6)
	d.Edges = append(d.Edges, edge{
		Path: path, X: x2 - 8, Y: y2 - 6, Label: label,
		Arrow: fmt.Sprintf("M%d %dl-8 -4v8z", x2, y2),
	})
}

// waited returns the time until somebody took a handoff, or until now.
func waited(r *Row, now time.Time) string {
	if d, ok := r.ToClaim(); ok {
		return spell(d)
	}
	if r.State.Open() {
		return spell(now.Sub(r.Offered))
	}
	return ""
}

// worked returns the time from the claim to the end of a handoff, or until now.
func worked(r *Row, now time.Time) string {
	if d, ok := r.ToFinish(); ok {
		return spell(d)
	}
	if r.State.Open() && !r.Claimed.IsZero() {
		return spell(now.Sub(r.Claimed))
	}
	return ""
}
