package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// pushReport has the line of "git push --porcelain" for each ref. Only the first line of a ref
// counts: git prints the hub's reason of a refusal unescaped, so the hub can forge lines after it.
type pushReport struct {
	lines map[string]reportLine
	said  string // further output of the hub, for a refusal without a reason
}

// reportLine is the line of one ref: a flag, and a summary for people.
type reportLine struct {
	flag    byte
	summary string
}

// moved reports whether the hub moved, made or deleted the ref.
func (l reportLine) moved() bool { return strings.ContainsRune(" +*-", rune(l.flag)) }

func parseReport(out []byte) *pushReport {
	r := &pushReport{lines: map[string]reportLine{}}
	for line := range strings.Lines(string(out)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(part) != 3 || len(part[0]) != 1 {
			continue
		}
		i := strings.LastIndexByte(part[1], ':')
		if ref := part[1][i+1:]; i >= 0 && r.lines[ref].flag == 0 {
			r.lines[ref] = reportLine{part[0][0], part[2]}
		}
	}
	return r
}

// Accepted reports whether every ref of a push was changed. "=" (up to date) is a lost race: git
// says it before it looks at the lease.
func (r *pushReport) Accepted(edits []refs.Edit) bool {
	for _, line := range r.lines {
		if !line.moved() {
			return false
		}
	}
	return len(r.lines) > 0 && len(r.lines) == len(edits)
}

// failedAfter reports whether a push failed although the hub accepted every ref: soft-serve ends each
// push over ssh with an error as long as the repository has no branch. git before 2.49 ignores that
// error in an atomic push.
func (r *pushReport) failedAfter(err error, edits []refs.Edit) bool {
	return gitexec.ExitCode(err) == 1 && r.Accepted(edits)
}

// diagnose finds out why a push failed: the hub refuses, cannot do atomic pushes, is read-only, or
// is gone. Where no ref has a reason, it tries.
func (h *Hub) diagnose(ctx context.Context, edits []refs.Edit, r *pushReport, cause error) error {
	if refused := h.guardRefusal(cause); refused != nil {
		h.book.note(func(k *findings) { k.Guarded = true })
		return refused
	}
	if gitexec.BadSetting(cause) {
		return h.Alias.errBadSetting(GitSaid(cause))
	}
	if lost, err := lostLane(ctx, h, edits); err != nil || lost != "" {
		if err != nil {
			return err
		}
		if moved := h.Moved(ctx); moved != nil {
			return moved
		}
		return h.Alias.errLaneGone(lost)
	}
	if r.culprit() != "" {
		return refusal(ctx, h, edits, r, cause)
	}
	if gitexec.TimedOut(cause) {
		return errNoAnswer(h)
	}
	if ref := r.hiddenFromFetch(h, edits); ref != "" {
		return h.Alias.errHidden(ref)
	}
	if ref := hidesFromPush(ctx, h, edits); ref != "" {
		return h.Alias.errHiddenFromPush(ref)
	}
	if h.dryRun(ctx, edits, "--no-atomic") == nil {
		if err := h.dryRun(ctx, edits, "--atomic"); err != nil && !gitexec.Unexplained(err) {
			return h.Alias.errNoAtomic()
		}
	}
	if _, down := h.RemoteLanes(ctx); down != nil {
		return down // the hub cannot be reached
	}
	said := GitSaid(cause)
	if other := errFormat(&h.remote, said); other != nil {
		return other
	}
	if gitexec.Unexplained(cause) {
		return fault.New(fault.Unavailable, fault.RemoteUnavailable, "the push to %s was cut short: %s", h.Alias.Name, said).
			WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("checks whether the push arrived, and sends it again if not"))
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s refuses the push: %s", h.Alias.Name, said).
		WithHints(h.Alias.settingOr(said, fault.Run("githandoff", "doctor").Because("says whether it is read-only for you")))
}

// errLaneGone is returned for a hub without a lane that this clone has seen. A server that creates
// repositories on push makes an empty one under the former name of a renamed hub.
func (a *Alias) errLaneGone(lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s lost %s, which this clone has seen", a.Name, lane).
		WithHints(fault.Run("githandoff", "sync", a.Name).Because("brings a restored hub up to date"),
			fault.See("repo add").Because("--id gives it its new URL, if it was renamed or moved"))
}

// refusal is like errPushRefused. If an existing ref blocks the refs of handoffs, it asks the hub
// once more: the handoffs may be below another prefix. If git here could not read an object of the
// push, the hub is not to blame.
func refusal(ctx context.Context, h *Hub, edits []refs.Edit, r *pushReport, cause error) error {
	if strings.Contains(r.said, sentNothing) {
		return fault.New(fault.Unavailable, fault.MissingObject, "cannot send %s to %s: %s", r.culprit(), h.Alias.Name, GitSaid(cause)).
			WithHints(refs.BringsObjects())
	}
	if strings.Contains(strings.Join(remoteLines(cause), " "), inTheWay) {
		if moved := h.Moved(ctx); moved != nil {
			return moved
		}
	}
	return h.errPushRefused(ctx, edits, r, cause)
}

// sentNothing are words of git at a hub to which the git here sent no objects.
const sentNothing = "eof before pack header"

// inTheWay are words of git at the hub about a ref with another ref above or below it.
const inTheWay = "exists; cannot create"

// remoteLines returns the lines that the hub's git or its hook wrote. If the hub could not unpack a
// push, the reason is in a line of the git here and, if the hub is a path, in one of the hub's git
// about a killed child.
func remoteLines(err error) []string {
	e, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return nil
	}
	var said []string
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "remote: ")
		if !ok && strings.Contains(line, " died of signal ") {
			rest, ok = strings.CutPrefix(line, "error: ")
		}
		if !ok {
			rest, ok = strings.CutPrefix(line, "error: remote unpack failed: ")
		}
		if rest = strings.TrimSpace(rest); ok && !label(rest) {
			said = append(said, rest)
		}
	}
	return said
}

// errLocked returns the refusal naming a lock at the hub, and the command to remove it there.
func (a *Alias) errLocked(path string) error {
	f := fault.New(fault.Unavailable, fault.HubLocked, "%s exists at %s: another git is running there, or one crashed", Quote(path), a.Name)
	if dir, ok := a.Path(); ok {
		return f.WithHints(fault.Run(append(inRepository(dir, "githandoff"), "doctor", "--fix")...).Because("removes it if no process has it open"))
	}
	return f.WithHints(fault.Fact("githandoff doctor --fix, run at %s, removes it if no process has it open", a.Name))
}

func (h *remote) dryRun(ctx context.Context, edits []refs.Edit, atomic string) error {
	args := slices.Concat(pushArgs, []string{"--dry-run", atomic, "--", h.Alias.target})
	var made []refs.Edit
	for _, e := range edits {
		if e.New != "" {
			made = append(made, e)
			args = append(args, e.New+":"+h.RemoteName(e.Ref))
		}
	}
	out, err := h.connect(ctx, gitexec.Cmd{Args: args, Timeout: gitexec.RemoteTimeout})
	if parseReport(out).failedAfter(err, made) {
		return nil
	}
	return err
}

// lostLane names a lane that this clone has seen and the hub did not show after the refusal; "" if
// there is none.
func lostLane(ctx context.Context, h *Hub, edits []refs.Edit) (string, error) {
	for _, e := range edits {
		cc, ok := strings.CutPrefix(e.Ref, h.Namespace().Lanes())
		if !ok || e.Old == "" || !h.inMirror(handoff.ID(cc)) {
			continue
		}
		now, err := h.Repo.Resolve(ctx, h.mirrored(e.Ref))
		if err != nil {
			return "", err
		}
		if now == "" {
			return h.RemoteName(e.Ref), nil
		}
	}
	return "", nil
}

// byHub begins the summary of a ref refused by the hub, after git here had found its lease to
// hold.
const byHub = "[remote rejected] "

// goesAlong are the statuses of a ref that failed only because another ref of the same atomic push
// did: two of git, and one of JGit (Gerrit).
var goesAlong = []string{"(atomic push failure)", "(atomic transaction failed)", "(transaction aborted)"}

// forGood are words of refusals that another try would meet again, from hooks and settings of git
// at the hub and from other servers. Any other refusal is tried again.
var forGood = []string{"hook declined", "deny ", "denied", "prohibited", "(non-fast-forward)", "not permitted", "not allowed", "protected", tooLarge, inTheWay}

// tooLarge are words of git at a hub with a limit on the size of a pack.
const tooLarge = "maximum allowed size"

// hiddenRef are words of git about a ref that receive.hideRefs or transfer.hideRefs names.
const hiddenRef = "hidden ref"

// refused reports whether the hub refused a ref itself, and why.
func (r *pushReport) refused(ref string) (why string, ok bool) {
	why, ok = strings.CutPrefix(r.lines[ref].summary, byHub)
	return why, ok && r.lines[ref].flag == '!'
}

// culprits returns the refs refused by the hub for their own sake.
func (r *pushReport) culprits() []string {
	var list []string
	for ref := range r.lines {
		if why, ok := r.refused(ref); ok && !slices.Contains(goesAlong, why) {
			list = append(list, ref)
		}
	}
	return list
}

// refusedAsHidden returns a ref that a setting of git at the hub hides from pushes; "" if there is none. It is
// the reason, whatever else is said: git moves the other refs even of an atomic push.
func (r *pushReport) refusedAsHidden() string {
	first := ""
	for ref := range r.lines {
		if why, ok := r.refused(ref); ok && strings.Contains(why, hiddenRef) && (first == "" || ref < first) {
			first = ref
		}
	}
	return first
}

// culprit returns the first ref refused by the hub for its own sake, or else some ref that it refused;
// "" where it refused none.
func (r *pushReport) culprit() string {
	if ref := r.refusedAsHidden(); ref != "" {
		return ref
	}
	if list := r.culprits(); len(list) > 0 {
		return slices.Min(list)
	}
	for ref := range r.lines {
		if _, ok := r.refused(ref); ok {
			return ref
		}
	}
	return ""
}

// outdated is git's status of a ref whose lease does not match the list of refs in the hub's
// answer: then git sends nothing.
const outdated = "[rejected] (stale info)"

// overtaken reports whether git sent nothing of a push because a ref outside of the lanes had
// moved. A lane moves for other handoffs as well.
func (r *pushReport) overtaken(h *Hub, edits []refs.Edit) bool {
	moved := false
	for _, e := range edits {
		there := h.RemoteName(e.Ref)
		if _, ok := r.refused(there); ok || r.lines[there].flag != '!' {
			return false
		}
		moved = moved || r.lines[there].summary == outdated && !h.Namespace().InLog(e.Ref)
	}
	return moved
}

// refusedByHub reports whether the hub refused each ref in its answer.
func (r *pushReport) refusedByHub() bool {
	for ref := range r.lines {
		if _, ok := r.refused(ref); !ok {
			return false
		}
	}
	return true
}

// RefusedForGood reports whether the hub refused every ref of a push, for a lasting reason, or one that
// it hides. In the first case nothing moved there, and the leases held: there is nothing to read. In
// the second the next look at the hub shows what moved.
func (r *pushReport) RefusedForGood(edits []refs.Edit) bool {
	if r.refusedAsHidden() != "" {
		return true
	}
	if len(r.lines) != len(edits) || !r.refusedByHub() {
		return false
	}
	why := r.lines[r.culprit()].summary // empty if the hub refused no ref
	if strings.Contains(why, "unpacker error") && strings.Contains(r.said, tooLarge) {
		return true
	}
	return slices.ContainsFunc(forGood, func(word string) bool { return strings.Contains(why, word) })
}

// errPushRefused reports a refused push in the hub's words.
func (h *remote) errPushRefused(ctx context.Context, edits []refs.Edit, r *pushReport, cause error) error {
	said := remoteLines(cause)
	if lock, why := lockAmong(said); lock != "" && why == nil {
		return h.Alias.errLocked(lock)
	}
	ref := r.culprit()
	why, _ := r.refused(ref)
	text := strings.Join(append([]string{why}, said...), "; ")
	keeps := keepsRefs(ctx, h, edits, r)
	if r.RefusedForGood(edits) {
		h.book.note(func(k *findings) {
			if k.Refused = text; keeps {
				k.KeepsRefs = text
			}
		})
	}
	hint := h.Alias.settingFor(text, keeps)
	f := fault.New(fault.Unavailable, fault.HubRefused, "%s refuses %s: %s", h.Alias.Name, ref, Quote(text)).WithHints(hint)
	if r.RefusedForGood(edits) && r.refusedAsHidden() == "" { // otherwise the hub may have taken a part of the push
		f.Err = refs.ErrRefused
	}
	return f
}

// errHidden returns the refusal of a hub showing one of its refs only in a push.
func (a *Alias) errHidden(ref string) error {
	lost := "work"
	if strings.HasPrefix(ref, a.Root()+"work/") {
		lost = "the snapshot"
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s has %s but hides it from fetches (uploadpack.hideRefs of git): nobody can take %s from there", a.Name, ref, lost).
		WithHints(a.renamed(fault.Fact("at the hub, uploadpack.hideRefs or transfer.hideRefs must not name refs/handoffs")))
}

// errHiddenFromPush returns the refusal of a hub showing one of its refs only in a fetch.
func (a *Alias) errHiddenFromPush(ref string) error {
	return fault.New(fault.Unavailable, fault.HubRefused, "%s has %s but hides it from pushes: nobody can take a step there", a.Name, ref).
		WithHints(a.settingFor(hiddenRef, false))
}

// errNotKept returns the refusal of a hub that took a ref and no longer has it.
func (a *Alias) errNotKept(ref string) error {
	return fault.New(fault.Unavailable, fault.HubRefused, "%s took %s and has not kept it: each handoff would be lost there", a.Name, ref).
		WithHints(a.renamed(fault.Fact("the hooks of %s, or whatever mirrors another repository into it, must keep refs/handoffs/", a.Name)))
}

// ErrGuard is the cause of the error of a step refused by a hub's guard.
var ErrGuard = errors.New("refused by a guard")

// ErrGuardElsewhere is ErrGuard if the guard takes handoffs below another prefix.
var ErrGuardElsewhere = fmt.Errorf("%w: other prefix", ErrGuard)

// guardRefusal reads the refusal of a hub's guard, "githandoff: <ref>: <reason>: <text>";
// nil if there is none. The words are the hub's: they only choose between two exit codes,
// and are escaped. The caller finds out itself whether a ref has moved.
func (h *remote) guardRefusal(cause error) *fault.Error {
	for _, line := range remoteLines(cause) {
		part := strings.SplitN(line, ": ", 4)
		if len(part) != 4 || part[0] != "githandoff" || !strings.HasPrefix(part[1], "refs/") {
			continue
		}
		if fault.Reason(part[2]) == fault.UnknownSchema { // of an envelope that is newer than the guard
			part[2] = string(fault.Malformed)
		}
		code := fault.Denied
		switch reason := fault.Reason(part[2]); {
		case slices.Contains(fault.PolicyDenials(), reason):
			code = fault.Policy
		case !slices.Contains(fault.Denials(), reason):
			continue
		}
		why := escaped(part[3])
		if unknownToGuard(part[1], fault.Reason(part[2]), part[3]) {
			why += "; its guard may be of an earlier version, which whoever runs the hub updates"
		}
		f := fault.New(code, fault.Reason(part[2]), "%s refuses %s: %s", h.Alias.Name, escaped(part[1]), why)
		f.Err = ErrGuard
		if prefix := namedPrefix(fault.Reason(part[2]), part[3]); prefix != "" {
			f.Err = ErrGuardElsewhere
			return f.WithHints(fault.Run("githandoff", "repo", "add", h.Alias.Name, h.Alias.URL.Bare(), "--prefix", prefix).
				Because("looks there, if that is where your team keeps its handoffs"))
		}
		switch f.Reason {
		case fault.UntrustedKey, fault.UntrustedRoot: // the hub says who can trust the key
			return f
		case fault.AudienceMismatch:
			return f.WithHints(fault.Fact("if that home is this hub, githandoff hook install --server --url URL, run there, makes its URL known to the guard"))
		}
		return f.WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("fetches the current state of %s", h.Alias.Name))
	}
	return nil
}

// namedPrefix returns the prefix below which a guard takes handoffs, from its refusal of a ref
// elsewhere; "" if it names none.
func namedPrefix(reason fault.Reason, text string) string {
	prefix, ok := strings.CutPrefix(text, "this hub keeps handoffs below ")
	if prefix = strings.TrimSpace(prefix); !ok || reason != fault.InvalidPath || CheckPrefix(prefix) != nil {
		return ""
	}
	return prefix
}

// unknownToGuard reports whether a guard refuses a ref as an earlier version does: one that knows
// no snapshots and no invitations, or another form of invitations or handoffs.
func unknownToGuard(ref string, reason fault.Reason, text string) bool {
	invitation := strings.HasPrefix(ref, refs.Root+"invites/")
	switch reason {
	case fault.InvalidPath: // a guard below a prefix names that prefix instead
		return (invitation || strings.HasPrefix(ref, refs.Root+"work/")) && strings.HasPrefix(text, "a home has no ")
	case fault.Malformed, fault.MalformedObject:
		return invitation || regexp.MustCompile(unknownForm).MatchString(text)
	}
	return false
}

// unknownForm matches what a guard says of a form that it does not know.
const unknownForm = `: unknown member|unknown to this version|, this version reads |: message is not in canonical form$`

// escaped is like [Quote] without the quotes.
func escaped(s string) string {
	q := Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
