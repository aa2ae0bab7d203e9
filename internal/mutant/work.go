package main

// ofWork are the guards of the local record of a handoff.
var ofWork = []mutant{
	{
		"an end that is kept stays until its refs are gone from the hub", "internal/work/held.go",
		`if st.Own() && st.Holder.Finished() {`, `if st.Own() && st.Holder == nil {`, inScript + "sync_half_end",
	},
	{
		"the inbox refs that came back with a backup go with the log", "internal/app/hubsync/look.go",
		`if a.hub.GaveBack() != nil {`, `if false {`, inScript + "sync_swept",
	},
	{
		"a resume deletes the inbox ref of an ended handoff", "internal/app/take/offers.go",
		`	t.sweep(ctx)
`, `	_ = t.sweep
`, inScript + "sync_swept",
	},
	{
		"a look deletes nothing", "internal/app/take/forget.go",
		`	if t.Peek {
		return
	}
	byHome`, `	byHome`, inScript + "sync_swept",
	},
	{
		"the end of an older claim leaves the newer one", "internal/work/claims.go",
		`if stored.Held() && stored.Nonce != h.Nonce {`, `if false {`, "./internal/work -run TestStepAndClaimAreOneRecord",
	},
	{
		"a record changes from what is stored now", "internal/work/claims.go",
		`h = cmp.Or(h, &Claim{ID: id})`, `h = cmp.Or(&Claim{ID: id}, h)`, "./internal/work -run TestStepAndClaimAreOneRecord",
	},
	{
		"a step that an earlier version kept is taken", "internal/work/claims.go",
		`		h.Pending = &step.Step
		err = c.write(h)`, `		h.Pending = &step.Step`, "./internal/work -run TestUpgrade",
	},
	{
		"a step that an earlier version kept beside another one is taken", "internal/work/claims.go",
		`err = c.takeBeside(h, step.Step)`, `_ = c.takeBeside`, "./internal/work -run TestUpgradeBesideAKeptStep",
	},
	{
		"a progress that an earlier version kept has one name", "internal/work/claim.go",
		`s.Event != record.Progressed || s.Entry != "" {`, `true || s.Entry != "" {`, "./internal/work -run TestUpgradeBesideAKeptStep",
	},
	{
		"what an earlier version sent back is the reply", "internal/app/finish/followup.go",
		`sent || err != nil && !fault.Is(err, fault.Replayed) {`, `false {`, "./internal/attack -run TestReplyOfAnEarlierVersion",
	},
	{
		"a kept failure names the handoff that goes back", "internal/app/finish/finish.go",
		`child.ID = cmp.Or(step.Child, child.ID)`, `_ = cmp.Or(step.Child, child.ID)`, inScript + "snapshot_back_older",
	},
	{
		"a claim is the one that was made here by its key as well", "internal/work/claim.go",
		`h.Mine(claim.Nonce) && h.Key == claim.Key`, `h.Mine(claim.Nonce)`, "./internal/attack -run TestClaimWithTheNonceOfAnother",
	},
	{
		"records with one nonce are told apart by their keys", "internal/lifecycle/state.go",
		`return mark{r.Nonce, r.Key}`, `return mark{r.Nonce, ""}`, "./internal/attack -run TestTwoClaimsWithOneNonce",
	},
	{
		"the claim that runs is the one of its key", "internal/lifecycle/verified.go",
		`r.Key == s.Claim.Key && (r.Nonce`, `(r.Nonce`, "./internal/attack -run TestTwoClaimsWithOneNonce",
	},
	{
		"a commit on top of another hides no other record", "internal/lifecycle/replay.go",
		`for _, link := range all {`, `for _, link := range all[len(all)-1:] {`, inLifecycle + "TestOneRecordTwice",
	},
	{
		"an id of two handoffs is quoted as neither", "internal/app/render/quote.go",
		`case first.Payload != s.Payload:`, `case first.Payload == "" && s.Payload == "":`, "./internal/attack -run TestQuoteOfAnIDAtTwoHomes",
	},
	{
		"who had no part in a handoff is not believed about it", "internal/app/render/lineage.go",
		`e.Dispute == nil && sameSigner(e.Record(), offer)`, `e.Dispute == nil`, "./internal/attack -run TestQuoteOfAnErasedHandoff",
	},
	{
		"an agent with two keys is one that had a part", "internal/app/render/lineage.go",
		` || a.Actor == b.Actor`, ``, inScript + "render_rotated",
	},
	{
		"a quote is of what the handoff follows from", "internal/app/render/lineage.go",
		`if offer.Parent != a.ID && (`, `if offer.Parent == "x" && (`, "./internal/attack -run TestQuoteOfAnErasedHandoff",
	},
	{
		"of two quotes that differ none is believed", "internal/app/render/lineage.go",
		`q.differ = true`, `q.differ = false`, "./internal/attack -run TestQuoteOfAnErasedHandoff",
	},
	{
		"an entry is compared with two records on an inbox ref at most", "internal/lifecycle/replay.go",
		`links[m] = signed`, `_ = m`, inLifecycle + "TestManyRecordsWithOneMark",
	},
	{
		"a step that somebody else took is not the holder's", "internal/lifecycle/state.go",
		`r.Claim == nonce && r.Key == key`, `r.Claim == nonce`, "./internal/attack -run TestClaimWithTheNonceOfAnother",
	},
	{
		"who rejects an offer does not use up the token that it names", "internal/lifecycle/end.go",
		`if h.Nonce != "" { // nobody`, `if true { // nobody`, "./internal/attack -run TestRejectedOfferNames",
	},
	{
		"nobody else can tell the id of a child", "internal/successor/id.go",
		`[]string{string(parent), from.Nonce, secret}`, `[]string{string(parent), from.Nonce, secret}[:2]`, "./internal/attack -run TestIDsOfChildrenCannotBeTold",
	},
	{
		"an offer of somebody else takes no child out of the outbox", "internal/outbox/outbox.go",
		`stays := lifecycle.OfferedBy(there, s.Receipt.Key)`, `stays := there.Offer != nil`, "./internal/attack -run TestChildUnderWayIsNotDropped",
	},
	{
		"a child whose id was taken goes on under another", "internal/outbox/rename.go",
		`if !fault.Is(taken, fault.Replayed) {`, `if true || !fault.Is(taken, fault.Replayed) {`, "./internal/attack -run TestChildGoesOnUnderANewID",
	},
	{
		"a child with a token keeps its id", "internal/outbox/rename.go",
		`p.Record.Token != "" ||`, `p.Record.Token == "obo" ||`, inScript + "reroute_taken",
	},
	{
		"an offer that does not count yet is not sent again under another id", "internal/lifecycle/end.go",
		`case !mine && early != nil:`, `case false && early != nil:`, inScript + "sync_early_child",
	},
	{
		"an offer of the child itself is told by its signature", "internal/outbox/rename.go",
		`lifecycle.OfferedBy(s, p.Record.Key) {`, `len(s.Entries) > 0 && s.Entries[0].Record().Key == p.Record.Key {`, "./internal/attack -run TestChildGoesOnUnderANewID",
	},
	{
		"a handoff whose id is taken can be withdrawn from the outbox", "internal/app/move/move.go",
		`if len(s.Entries) == 0 {`, `if len(s.Entries) >= 0 {`, "./internal/attack -run TestOccupiedHandoffIsRevoked",
	},
	{
		"a handoff that was delivered is not withdrawn as one that was not", "internal/app/move/move.go",
		`return e.Record().Payload == ref.OID }`, `return e.Record().Payload == "" && ref.OID == "" }`, inScript + "revoke_doubt",
	},
	{
		"what can never be delivered does not stay in the outbox", "internal/app/emit/emit.go",
		`if fault.Is(err, fault.Replayed) { // another one`, `if fault.Is(err, fault.Replayed) && false { // another one`,
		"./internal/attack -run TestRefusedReplyLeavesNothing",
	},
	{
		"a receipt names no reply of somebody else", "internal/app/finish/followup.go",
		`case offer.Key == f.Engine.Author.Signer.KID() && offer.Parent == h.ID:`, `case true:`, "./internal/attack -run TestReplyOfAnother",
	},
	{
		"an intent is left to others once its step is over", "internal/lifecycle/engine.go",
		`defer i.leave()`, `_ = i.leave`, "./internal/lifecycle -run TestRecoverFromAnyPrefix",
	},
	{
		"an owned file is locked before it has its name", "internal/durable/owner.go",
		`	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // a`, `	_ = syscall.Flock // a`, "./internal/durable -run TestOwned",
	},
	{
		"a directory of another process stays", "internal/durable/owner.go",
		`case owned && !Owned(path):`, `case owned:`, "./internal/durable -run TestNewDir",
	},
	{
		"a work copy that another process makes is left alone", "internal/workcopy/here.go",
		`durable.Owned(h.ownerFile(c.ID))`, `durable.Owned("")`, inScript + "snapshot_killed",
	},
	{
		"an invitation of another version is named as such", "internal/invite/record.go",
		`if err := ofSchema(p.Document, schema); err != nil {`, `if err := ofSchema(p.Document, schema); err != nil && false {`, "./internal/invite -run TestRefused",
	},
	{
		"one process takes the kept steps at a time", "internal/app/hubsync/kept.go",
		`private.Lock(ctx, hd.Repo.OwnWorktree("steps.lock"))`, `func() { _ = private.Lock }, error(nil)`, inScript + "sync_at_once",
	},
	{
		"one process changes a record at a time", "internal/work/claims.go",
		`	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	h, err := c.current().Get(id)`, `	h, err := c.current().Get(id)`, "./internal/work -run TestUpdatesAtOnce",
	},
	{
		"a progress that landed is not sent again", "internal/lifecycle/claim.go",
		`if s.Progressed(h.Nonce, n.Nonce) {`, `if false {`, inScript + "progress_landed",
	},
	{
		"words that landed are not said again", "internal/lifecycle/claim.go",
		`if s.Progressed(h.Nonce, n.Said...) {`, `if false {`, inScript + "progress_landed",
	},
	{
		"a progress that landed is the one that its lane names", "internal/app/finish/finish.go",
		`	if step.Event == record.Progressed {
		return`, `	if false {
		return`, inScript + "progress_landed",
	},
	{
		"a push that was interrupted is in doubt", "internal/crossrepo/hub.go",
		`return fmt.Errorf("%w: %w", ErrInDoubt, err)`, `_ = fmt.Errorf
	return err`, inCrossrepo + "TestInterruptedPush",
	},
	{
		"a push that git finished after an interrupt was taken", "internal/crossrepo/hub.go",
		`	ctx = context.WithoutCancel(ctx)
	h.notePushed`, `	h.notePushed`, inCrossrepo + "TestInterruptedPush",
	},
	{
		"a step in doubt is kept for the next sync", "internal/app/finish/finish.go",
		`(fault.CodeOf(err) == fault.Unavailable || errors.Is(err, crossrepo.ErrInDoubt))`, `fault.CodeOf(err) == fault.Unavailable`,
		inStress + "TestInterruptedDuringAPush/progress_pre-receive",
	},
	{
		"words that landed are not reported as unsent", "internal/app/finish/finish.go",
		`!done.State.Progressed(h.Nonce, unsent.Entries()...)`, `true`, inScript + "progress_landed",
	},
	{
		"a line that is no message does not reach the MCP server", "internal/mcp/messages.go",
		`if refused != nil {`, `if false {`, "./internal/mcp -run TestMalformedLineIsAnswered",
	},
	{
		"a status keeps no more sent handoffs than it lists", "internal/app/survey/survey.go",
		`if len(l.kept)-someMore > l.most {`, `if false {`, "./internal/app/survey -run TestSentListIsBounded",
	},
	{
		"a handoff whose claim is not confirmed is counted once", "internal/app/survey/survey.go",
		`if s.holds(it.Place) {`, `if false {`, inScript + "status_unconfirmed",
	},
	{
		"a revoke that was cut off leaves no inbox ref", "internal/app/move/move.go",
		`f.State.Phase() == lifecycle.Ended && f.State.Tip != ""`, `false`, "./internal/cli -run TestScript/revoke_cut_off",
	},
	{
		"a worktree made again in the place of another holds nothing of it", "internal/work/claims.go",
		` || !c.recorded(o)`, ``, "./internal/cli -run TestScript/held_worktree_again",
	},
	{
		"a worktree that comes back holds nothing that another one took over", "internal/work/claims.go",
		`recordsIn(o.was).Drop(o.ID)`, `error(nil)`, "./internal/work -run TestAdoptedClaimLeaves",
	},
	{
		"the worktrees of a clone that was moved are not removed", "internal/work/claims.go",
		`o.GitDir = filepath.Join(c.Common, "worktrees", name)`, `_ = name`, "./internal/cli -run TestScript/held_worktree_again",
	},
	{
		"a claim handed over to the main worktree is no orphan", "internal/work/claims.go",
		`if c.Linked && !to.Linked {`, `if false {`, "./internal/work -run TestHandedOverToTheMainWorktree",
	},
}
