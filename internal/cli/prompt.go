package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"githandoff/internal/app/decide"
	"githandoff/internal/app/githook"
	"githandoff/internal/app/take"
	"githandoff/internal/brief"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/mcp"
	"githandoff/internal/receipt"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// promptOf renders a handoff for its receiver: facts about its origin, then its content inside a
// fence, then the next commands. It is just enough to start with; the rest is one command away.
func promptOf(a *app, ws *workspace.Workspace, g *take.Result, acks bool) ([]byte, error) {
	v := g.Verified
	var b bytes.Buffer
	offer := v.Offer()
	short := endOf(a, ws, offer.ID)
	fmt.Fprintf(&b, "Handoff %s from %s to %s", offer.ID, offer.From, v.State().To)
	if untrusted.IsTask(offer.Task) {
		fmt.Fprintf(&b, ", task %s", offer.Task)
	}
	fmt.Fprintf(&b, ".\n%s\n", provenance(v))
	if why := byDecision(v.State()); why != "" {
		fmt.Fprintf(&b, "Sent to %s%s.\n", v.State().To, why)
	}
	if g.Claim != nil && !acks {
		fmt.Fprintf(&b, "%s\n", heldUntil(untrusted.Name(g.Claim.Actor), v.State(), a.Now(), commandFor(a, "progress", short)))
	}
	if w := v.Envelope().Work; w != nil {
		fmt.Fprintf(&b, "Snapshot of the sender's work tree: %s%s.\n", workLine(w), inBrackets(commandFor(a, "work", "show", short)))
	}
	if err := writeFenced(a, &b, brief.Text(v.Envelope()), offer.From); err != nil {
		return nil, err
	}
	if more := brief.Omitted(v.Envelope()); len(more) > 0 {
		commands := "a person can print them"
		if !a.tools {
			commands = brief.Commands(v.Envelope(), commandFor(a, "show", short))
		}
		fmt.Fprintf(&b, "Not shown: %s (%s).\n", strings.Join(more, ", "), commands)
	}
	if to := toExplain(ws, g); to != "" {
		explain := []string{"emit", "--to", to, "--parent", short, "--summary", "TEXT"}
		if a.tools { // handoff_give makes the held handoff the parent
			explain = slices.Delete(explain, 3, 5)
		}
		fmt.Fprintf(&b, "Explain: %s, then acknowledge this one.\n", commandFor(a, explain...))
	}
	switch {
	case acks:
		fmt.Fprintf(&b, "Acknowledged at once: it is not held.\n")
	case g.Claim != nil:
		fmt.Fprintf(&b, "Done: %s. Not possible: %s. Give back: %s.\n",
			commandFor(a, "ack", short), commandFor(a, "fail", short, "--reason", "TEXT"), commandFor(a, "release", short))
		if !a.tools {
			b.WriteString(githook.ByHand(ws.Repo, g.Claim))
		}
	}
	if !a.tools { // the result of a tool is read as a whole
		a.Cost(b.Len())
	}
	return b.Bytes(), nil
}

// writeFenced writes the text of an agent in a fence.
func writeFenced(a *app, w io.Writer, text, author string) error {
	fenced, err := untrusted.Fence(a.Random, text, "written by "+author)
	if err == nil {
		_, err = w.Write(fenced)
	}
	return err
}

// commandFor returns a command of githandoff as the reader can run it where this one was typed; "" if
// the reader cannot. An agent that is told by its hook works in the directory of its session.
func commandFor(a *app, args ...string) string {
	argv := append([]string{"githandoff"}, args...)
	switch {
	case a.tools:
		return mcp.Call(argv...)
	case a.hook:
		return fault.Arg(argv...)
	}
	return fault.Arg(a.Here(argv)...)
}

// flagFor returns a flag of this command as the reader gives it.
func flagFor(a *app, name string) string {
	if argument := mcp.Argument(name); a.tools && argument != "" {
		return argument
	}
	return "--" + name
}

// inBrackets returns a remark at the end of a line; "" for none.
func inBrackets(remark string) string {
	if remark == "" {
		return ""
	}
	return " (" + remark + ")"
}

// endOf returns the end of an id for the commands in a prompt. At a terminal it is unique among all
// known ids. For an agent's prompt no refs are listed: the end is unique among the ids held by
// this worktree, as ack, fail and release need it.
func endOf(a *app, ws *workspace.Workspace, id handoff.ID) string {
	if a.Ends != nil {
		return a.Ends([]handoff.ID{id}).Of(id)
	}
	ids := []handoff.ID{id}
	held, err := ws.Claims.Held()
	if err != nil {
		return string(id)
	}
	for _, h := range held {
		ids = append(ids, h.ID)
	}
	return handoff.EndsOf(ids).Of(id)
}

// heldUntil names the holder and the end of the lease. After that, any agent of the inbox may
// take the handoff. renew is the command against it.
func heldUntil(actor string, s *lifecycle.State, now time.Time, renew string) string {
	if s.Overdue(now) {
		return fmt.Sprintf("The lease of %s ended at %s: others may take it. Renew it: %s.", actor, handoff.FormatTime(s.Lease), renew)
	}
	return fmt.Sprintf("Held by %s until %s.", actor, handoff.FormatTime(s.Lease))
}

// byDecision says who decided, and whether the agent shall explain something.
func byDecision(s *lifecycle.State) string {
	r := s.Routed()
	if r == nil {
		return ""
	}
	if receipt.DecodeResults(r.Data)[decide.Clarify] != "" {
		return fmt.Sprintf(" to explain to %s, by %s", s.Offer.From, untrusted.Name(r.Actor))
	}
	return ", by " + untrusted.Name(r.Actor)
}

// toExplain returns the target of an explanation, if the decision asks for one.
func toExplain(ws *workspace.Workspace, g *take.Result) string {
	r := g.Verified.State().Routed()
	if r == nil || receipt.DecodeResults(r.Data)[decide.Clarify] == "" {
		return ""
	}
	return handoff.TargetAt(r.From, ws.AliasOf(g.Home))
}

// provenance says who vouches for the content, as facts.
func provenance(v *lifecycle.Verified) string {
	key := v.Sender()
	who := cmp.Or(strings.Join(key.Entry().Agents, ", "), strings.Join(key.Entry().Principals, ", "))
	line := fmt.Sprintf("Signed by %s (trusted here as %s)", key.KID(), untrusted.Line(who))
	if t := v.Token(); t != nil {
		leaf := t.Leaf()
		return fmt.Sprintf("%s. By its token %s may act for %s until %s: %s.", line, leaf.Actor.Subject,
			untrusted.Line(leaf.Subject), handoff.FormatTime(t.Expires()), untrusted.Line(scopes(leaf.Scope)))
	}
	line += onBehalfOf(v.Offer().Principal)
	if err := v.Lapse(); fault.Is(err, fault.StatusUnknown) {
		return line + ". Whether the authority that it carries still holds is not known here: " + untrusted.Line(err.Error()) + "."
	} else if err != nil {
		return line + ". The authority that it carried is over: " + untrusted.Line(string(fault.As(err).Reason)+": "+err.Error()) + "."
	}
	return line + ". It carries no authority of its own."
}

// onBehalfOf returns the end of a line, with the principal.
func onBehalfOf(principal string) string {
	if principal = untrusted.Principal(principal); principal == "" {
		return ""
	}
	return ", for " + principal
}

// scopes lists scopes in a readable line. A target of many words is only counted: the agent that
// narrowed the scope chose it.
func scopes(list []string) string {
	const most = 16
	plain := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !untrusted.IsWord(strings.ReplaceAll(s, "*", "")) })
	plain = plain[:min(len(plain), most)]
	if more := len(list) - len(plain); more > 0 {
		plain = append(plain, fmt.Sprintf("%d more (githandoff obo show)", more))
	}
	return strings.Join(plain, ", ")
}
