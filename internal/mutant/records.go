package main

// ofRecords are the guards of the content of a record, and of the places where it must be
// repeated.
var ofRecords = []mutant{
	without("a child of a sealed handoff that has ended is sealed", "internal/app/emit/follow.go",
		`Agent: r.From}}, sealed, err`, `Agent: r.From}}, false, err`, inScript+"seal_handed_on"),
	without("git may have removed a part of an ended handoff", "internal/app/emit/follow.go",
		` || fault.Is(err, fault.MissingObject) {`, ` {`, inScript+"seal_handed_on"),
	without("results are logged only where it is known that nothing is sealed", "internal/receipt/writer.go",
		`	if !sealed || err != nil {
		return false, err`, `	if !sealed || err != nil {
		return false, nil`, "./internal/cli -run TestScript/seal_unreadable"),
	without("progress is told only where it is known that nothing is sealed", "internal/receipt/writer.go",
		`"renews its lease without a text"))
	}
	return err`, `"renews its lease without a text"))
	}
	return nil`, "./internal/cli -run TestScript/seal_unreadable"),
	without("who told the progress of a sealed handoff is not told to acknowledge it", "internal/receipt/writer.go",
		`fault.Run("githandoff", "progress", string(p.ID))`, `fault.Run("githandoff", "ack", string(p.ID))`, inScript+"seal_emit"),
	without("a copy that lacks the payload is brought up to date before anything is logged", "internal/receipt/writer.go",
		`|| data == "" ||`, `|| true ||`, "./internal/cli -run TestScript/seal_unreadable"),
	without("what quotes a sealed handoff is sealed, although it names no parent", "internal/app/emit/follow.go",
		`parent = env.Lineage[n-1].ID`, `return nil`, inScript+"emit_lineage"),
	without("what follows from a claim that cannot be read is not sent", "internal/app/emit/follow.go",
		`			return err // whether the held handoff was sealed is unknown`, `			return nil`, inScript+"emit_unreadable_claim"),
	without("a lane entry is the record of its inbox commit", "internal/lifecycle/replay.go",
		`if sameRecord(link.Commit, entry.Commit) {`, `if true {`, inLifecycle+"TestOneRecordTwice"),
	without("only the key of an entry can dispute it from the inbox", "internal/lifecycle/replay.go",
		`; err == nil { // signed by`, `; true || err == nil { // signed by`, inLifecycle+"TestOneRecordTwice"),
	without("an audit compares lanes with inboxes", "internal/app/audit/compare.go",
		`return at.ref
			case`, `return ""
			case`, inCrossrepo+"TestAuditComparesLaneAndInbox"),
	without("an entry that is not its commit counts for nobody", "internal/lifecycle/replay.go",
		`entry.Dispute = rd.checkInbox(s, entry)`, `entry.Dispute = nil`, inLifecycle+"TestOneRecordTwice"),
	without("a step says of a handoff what its offer says", "internal/lifecycle/steps.go",
		`case r.Home != offer.Home, r.Task != offer.Task,`, `case`, inLifecycle+"TestStepsTellTheStoryOfTheOffer"),
	without("a receipt says of a handoff what its offer says", "internal/lifecycle/steps.go",
		`case r.Counts != offer.Counts, r.Status != offer.Status,`, `case`, inLifecycle+"TestStepsTellTheStoryOfTheOffer"),
	without("a duration is the time since the claim", "internal/lifecycle/steps.go",
		`r.Duration != record.Duration(r.At.Sub(s.Claim.At))):`, `false):`, inLifecycle+"TestStepsTellTheStoryOfTheOffer"),
	without("an event has its own trailers alone", "internal/record/table.go",
		`case need == Never && value != "":`, `case false:`, "./internal/record -run TestParseHoldsTheTable"),
	without("an event has all that it must have", "internal/record/table.go",
		`case need == Must && value == "":`, `case false:`, "./internal/record -run TestParseHoldsTheTable"),
	without("results have one spelling", "internal/record/table.go",
		`if EncodeData(results) != s {`, `if false {`, "./internal/record -run TestParseRefusesValues"),
	without("a commit stands where its record says", "internal/record/commit.go",
		`	if err := c.checkPlace(); err != nil {
		return nil, err
	}
	return c, nil`, `	return c, nil`, "./internal/record -run TestParseCommitHoldsThePlace"),
	without("a malformed entry disputes the handoff that it names last", "internal/record/commit.go",
		`bytes.LastIndex(raw, []byte(trailer))`, `bytes.Index(raw, []byte(trailer))`, "./internal/record -run TestIDOf"),
	without("an entry that is too large hides nothing", "internal/lifecycle/lanes.go",
		`o, err = l.unreadable(ctx, oid)`, `return nil, err`, inCrossrepo+"TestTooLargeEntry"),
	without("a merge of a stranger does not enter the copies", "internal/crossrepo/advance.go",
		`why := c.checker.MayMove(ctx, c.was, c.now)`, `why := error(nil)`, inCrossrepo+"TestStrangersMerge"),
	without("a copy of a lane leads to what it led to", "internal/lifecycle/history.go",
		`if err != nil || from == "" {`, `if from == "" || true {`, inLifecycle+"TestMayMove"),
	without("a poisoned copy is mended", "internal/crossrepo/rewound.go",
		`	cut, ok, err := again.cut(ctx)`, `	cut, ok, err := "", false, error(nil)`, inCrossrepo+"TestPoisonedCopy"),
	without("a poisoned copy of a lane that is gone is mended", "internal/crossrepo/advance.go",
		`if cut, ok, err := c.cut(ctx); ok || err != nil {`, `if cut, ok, err := "", false, error(nil); ok || err != nil {`, inCrossrepo+"TestPoisonedCopy"),
	without("a stranger's merge is not given back", "internal/crossrepo/catchup.go",
		`	why := h.checker.MayMove(ctx, "", s.was)
	if why == nil {`, `	why := h.checker.MayMove(ctx, "", s.was)
	if true {`, inCrossrepo+"TestStrangersLane"),
	without("nothing but the short id stands outside a signature", "internal/sign/signature.go",
		`len(unhashed) > 0 && !bytes.Equal(unhashed, issuer) {`, `false && !bytes.Equal(unhashed, issuer) {`, "./internal/sign -run TestPGPAttacks"),
	without("numbers of a signature have one spelling", "internal/sign/signature.go",
		`8*(len(number)-1)+bits.Len8(number[0]) != n {`, `bits.Len8(number[0]) > 8 {`, "./internal/sign -run TestPGPAttacks"),
	without("the log of a sealed handoff tells nothing", "internal/lifecycle/payload.go",
		`v.sealed && (r.Data`, `false && (r.Data`, inLifecycle+"TestSealedHandoffIsQuiet"),
	without("a tip that is too large is not read as a chain", "internal/lifecycle/state.go",
		`		if large {`, `		if large && o == nil {`, "./internal/stress -run TestHugeCommit"),
}
