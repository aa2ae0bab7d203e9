package prompt

import (
	"fmt"
	"strings"

	"githandoff/internal/fault"
)

// Cut returns a prompt of at most limit bytes. A longer one is cut at the end of a line, an
// open fence is closed, and a last line says how much is missing and, in the words of rest,
// where it is. A limit too small to say anything is refused with [fault.Usage].
func (p *Prompt) Cut(limit int, rest string) (string, error) {
	if len(p.Text) <= limit {
		return p.Text, nil
	}
	notice := fmt.Sprintf("[cut at %d of %d bytes; the rest: %s]\n", limit, len(p.Text), rest)
	kept := lastLine(p.Text[:max(0, limit-len(notice))])
	for kept > 0 && kept+len(p.closing(p.Text[:kept]))+len(notice) > limit {
		kept = lastLine(p.Text[:kept-1])
	}
	if kept == 0 {
		return "", fault.New(fault.Usage, fault.BadUsage, "%d bytes are too few for a line of this prompt and the line that says where the rest is", limit).
			WithHints(fault.Fact("it has %d bytes", len(p.Text)))
	}
	head := p.Text[:kept]
	return head + p.closing(head) + notice, nil
}

// lastLine returns where the last whole line of s ends.
func lastLine(s string) int { return strings.LastIndexByte(s, '\n') + 1 }

// closing returns the last lines of the fences begun but not ended in head, the inner ones first.
func (p *Prompt) closing(head string) string {
	var open string
	for _, f := range p.fences {
		first, _, _ := strings.Cut(f, "\n")
		last := f[lastLine(f):]
		if at := strings.Index(head, first); at >= 0 && !strings.Contains(head[at:], last) {
			open += last + "\n"
		}
	}
	return open
}
