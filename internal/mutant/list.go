package main

// Packages, and tests in them that are to notice.
const (
	inRefs      = "./internal/refs -run "
	inLifecycle = "./internal/lifecycle -run "
	inCrossrepo = "./internal/crossrepo -run "
	inGitexec   = "./internal/gitexec -run "
	inStress    = "./internal/stress -run "
	inScript    = "./internal/cli -run TestScript/"

	// contract is the test that holds at every home.
	contract = "TestHome/hub_by_path"
)

// mutants are the guards. Each line of old is the guard as it stands.
var mutants = []mutant{
	// Leases.
	{
		"a new ref must not exist yet", "internal/refs/transaction.go",
		`"create %s %s\n", e.Ref, e.New`, `"update %s %s\n", e.Ref, e.New`, inRefs + "TestApply",
	},
	{
		"a moved ref has its old value", "internal/refs/transaction.go",
		`"update %s %s %s\n", e.Ref, e.New, e.Old`, `"update %s %s\n", e.Ref, e.New`, inRefs + "TestApply",
	},
	{
		"a deleted ref has its old value", "internal/refs/transaction.go",
		`"delete %s %s\n", e.Ref, e.Old`, `"delete %s\n", e.Ref`, inRefs + "TestApply",
	},
	{
		"deletions come last", "internal/refs/transaction.go",
		`return append(moves, deletions...)`, `return append(deletions, moves...)`, inRefs + "TestDeletions",
	},
	{
		"a ref that is gone is no success", "internal/refs/transaction.go",
		`return done && moved, stale, nil`, `return done, stale, nil`, inRefs + "TestApplyDeletes",
	},
	{
		"packed-refs is told apart by the nanosecond", "internal/refs/packed.go",
		`now.ModTime().Equal(p.info.ModTime())`, `now.ModTime().Unix() == p.info.ModTime().Unix()`, inRefs + "TestPinPacked",
	},
	{
		"packed-refs is told apart by its inode, which stays pinned", "internal/refs/packed.go",
		`os.SameFile(now, p.info) &&`, ``, inRefs + "TestPinPacked",
	},
	{
		"what git compared with an older packed-refs does not count", "internal/refs/transaction.go",
		`if err == nil && !u.pinned.holds() {`, `if false {`, inRefs + "TestApplyBesideARepack",
	},
	{
		"an object that went while git read it is asked for again", "internal/refs/look.go",
		`|| errors.Is(err, errEnded); n++`, `; n++`, inRefs + "TestReadGitEnded",
	},
	{
		"a ref without its object is not absent", "internal/refs/look.go",
		`terr != nil || !there {`, `terr != nil || !there || true {`, inRefs + "TestLostObjectIsNotAbsent",
	},
	{
		"the object of a ref that moved a moment ago is waited for", "internal/refs/look.go",
		`if settled && (err != nil || !movedLately(r, name)) {`, `if settled {`, inRefs + "TestReadSoonAfterAMove",
	},
	{
		"an object that does not show is looked for once more, whatever runs", "internal/refs/look.go",
		`n > 1 && err == nil && r.Store.collecting().IsZero()`, `err == nil && r.Store.collecting().IsZero()`, inRefs + "TestReadWhileAnObjectMoves",
	},
	{
		"a list is of one moment of packed-refs and of the loose refs", "internal/refs/packed.go",
		`rests && equal(seen, again)`, `rests && equal(seen, again) || true`, inRefs + "TestListsSeeATransactionWhole",
	},
	{
		"the file of a loose object holds that object", "internal/refs/files.go",
		`gitobj.FormatOf(oid).Hash(kind.String(), body) != oid`, `false`, inRefs + "TestReadLoose",
	},
	{
		"a loose object above the limit is not read", "internal/refs/files.go",
		`(size < 0 || size > limit)`, `size < 0`, inRefs + "TestReadLoose",
	},
	{
		"doctor names a directory that cannot be written to", "internal/refs/writable.go",
		`if count == 0 {`, `if count >= 0 {`, "./internal/stress -run TestReadOnlyHere",
	},
	{
		"a ref that is a link is asked for", "internal/refs/files.go",
		`|syscall.O_NOFOLLOW|`, `|`, inRefs + "TestReadRefLikeGit",
	},
	{
		"a ref of one worktree is asked for", "internal/refs/files.go",
		`if !isShared(name) {`, `if false {`, inRefs + "TestReadRefLikeGit",
	},
	{
		"a ref that git keeps in another way is asked for", "internal/refs/files.go",
		"if !keepsRefsInFiles(r) {\n\t\treturn \"\", false", "if false {\n\t\treturn \"\", false", inRefs + "TestReadRefLikeGit",
	},
	{
		"a packed ref has the whole name", "internal/refs/reffiles.go",
		`rest == name {`, `rest != "" {`, inRefs + "TestReadRefLikeGit",
	},
	{
		"a kept pack of which a gc removed the index is written again", "internal/refs/keep.go",
		`err != nil || len(files) <= manyPackFiles`, `err != nil || len(files) >= 0`, inRefs + "TestKeptBesideTheTidyingOfAGC",
	},
	{
		"the children of a killed gc may go on", "internal/refs/keep.go",
		`if age < orphaned || age > oldestGC {`, `if age > oldestGC {`, inRefs + "TestGCLeftBehind",
	},
	{
		"the gc of another machine is believed", "internal/refs/keep.go",
		`host == here &&`, `here != "" &&`, inRefs + "TestGCLeftBehind",
	},
	{
		"a refused draft replaces none", "internal/app/githook/draft.go",
		`errors.Is(err, fs.ErrNotExist) {
			return aside`, `true {
			return aside`, inScript + "hook_draft_refused",
	},
	{
		"leases at a hub name a commit", "internal/crossrepo/remote.go",
		`"--force-with-lease="+e.Ref+":"+e.Old`, `"--force-with-lease="+e.Ref`, inCrossrepo + contract,
	},
	{
		"pushes are atomic", "internal/crossrepo/remote.go",
		`slices.Concat(settings, pushArgs, []string{"--atomic"})`, `slices.Concat(settings, pushArgs)`, inCrossrepo + contract,
	},
	{
		"up to date is a lost race", "internal/crossrepo/refusal.go",
		`f != ' ' && f != '+'`, `f != ' ' && f != '=' && f != '+'`, inCrossrepo + "TestReport",
	},
	// Long lanes.
	{
		"what was read ahead is what stands there", "internal/refs/stream.go",
		`err == nil && a.OID == oid && a`, `err == nil && a`, inLifecycle + "TestLaneIsNotCut",
	},
	{
		"a joined lane is walked anew", "internal/lifecycle/lanes.go",
		`ok && !joined {`, `ok {`, inLifecycle + "TestLaneOrder",
	},
	{
		"a lane is walked once", "internal/lifecycle/lanes.go",
		`l.indexes[tip] = index`, ``, inLifecycle + "TestLongLane",
	},
	// The memory that git takes.
	{
		"commits are not read whole to be listed", "internal/refs/stream.go",
		`"--buffer"}, Env: bound(), Bulk: true})`, `"--buffer"}, Bulk: true})`, inStress + "TestHugeCommit",
	},
	// Replay.
	{
		"an entry is in the lane that its id names", "internal/lifecycle/audit.go",
		`case l.home.Namespace().Lane(id) != l.lane.Name:`, `case false:`, inLifecycle + "TestAuditOf",
	},
	{
		"nothing counts after a receipt", "internal/lifecycle/replay.go",
		`if s.Receipt != nil && (r.Event != record.Revoked ||`, `if false && (r.Event != record.Revoked ||`, inLifecycle + "TestEnded|TestEntries",
	},
	{
		"a handoff is offered once", "internal/lifecycle/replay.go",
		`if !isOfferAgain(s, r) {`, `if false {`, inLifecycle + "TestOfferedTwice",
	},
	{
		"an id that was used is not used again", "internal/lifecycle/end.go",
		`case !mine && len(s.Entries) > 0:`, `case false:`, inLifecycle + "TestMachine",
	},
	{
		"what is over is not delivered again", "internal/lifecycle/steps.go",
		`!s.Delivered() && (s.Phase() == Open || s.Phase() == Held)`, `!s.Delivered()`, inLifecycle + "TestMachine",
	},
	{
		"a claim stands on the one before", "internal/lifecycle/steps.go",
		`if s.Claim == nil && r.Claim != "" || s.Claim != nil && r.Claim != s.Claim.Nonce {`, `if false {`, inLifecycle + "TestRoles|TestEntries",
	},
	{
		"a copy whose lane ended is not shown", "internal/lifecycle/state.go",
		`	case s.Receipt != nil:
		return Ended
	case s.Dispute`, `	case s.Receipt != nil && s.Tip == "":
		return Ended
	case s.Dispute`, inLifecycle + "TestHalfAStep|TestEnded",
	},
	// Nonces.
	{
		"two commits of one key in one second differ", "internal/lifecycle/author.go",
		`nonce, err := handoff.RandomHex(by.Random)`, `nonce, err := handoff.RandomHex(strings.NewReader("a random number."))`, inLifecycle + "TestCommitsDiffer",
	},
	{
		"the holder is who recorded the nonce", "internal/lifecycle/author.go",
		`case s.Claim.Nonce != h.Nonce || s.Claim.Key != by.Signer.KID():`, `case s.Claim.Key != by.Signer.KID():`, inStress + "TestTakeOver",
	},
	{
		"a claim is ours by its nonce", "internal/lifecycle/claim.go",
		`return s.Claim != nil && s.Claim.Key == e.Author.Signer.KID() && slices.Contains(nonces, s.Claim.Nonce)`,
		`return s.Claim != nil && s.Claim.Key == e.Author.Signer.KID()`, inStress + "TestTakeOver",
	},
	{
		"a claim is recorded before it leaves", "internal/app/take/claim.go",
		`			c.held, *stored = next, *next
			return nil`, `			c.held = next
			return nil`, inStress + "TestKilled/resume",
	},
	{
		"what was claimed and not shown is shown", "internal/app/take/resume.go",
		`return h.Printed || h.Actor != t.Agent ||`, `return true ||`, inCrossrepo + "TestUnprinted",
	},
	// Steps that wait for their hub.
	{
		"a step that the hub did not take is kept", "internal/app/finish/finish.go",
		`if kerr := f.keep(ctx, h, step); kerr != nil {`, `if kerr := error(nil); kerr != nil {`, inCrossrepo + "TestStepsAreKept",
	},
	{
		"a kept step is for its claim alone", "internal/app/hubsync/kept.go",
		`case h.Nonce != step.Nonce:`, `case false:`, inCrossrepo + "TestKeptStep",
	},
	{
		"a kept end is not replaced by a renewal", "internal/work/claim.go",
		`if s.Event == record.Progressed && h.Pending.ends() {`, `if false {`, "./internal/work -run TestKeptStep",
	},
	{
		"a step whose answer was lost was taken", "internal/app/finish/finish.go",
		`return s.Took(step.Event, h.Nonce, h.Key) || f.rejected(h, s)`, `return f.rejected(h, s)`, inStress + "TestStepWhoseAnswerWasLost",
	},
	// Intents.
	{
		"an inbox ref that a hub left out is made", "internal/lifecycle/intent.go",
		`case forward && makes && now == "":`, `case false:`, inLifecycle + "TestRecoverWhatAHubLeftOut",
	},
	{
		"an inbox ref of which a later step was taken is not made again", "internal/lifecycle/intent.go",
		`return last.Record().Nonce == c.Record.Nonce && sameRecord(c, last.Commit), nil`, `return sameRecord(c, last.Commit) || true, nil`,
		inLifecycle + "TestRecoverMakesNoInboxAgain",
	},
	{
		"an inbox ref is not made for content that is lost", "internal/lifecycle/intent.go",
		`if err != nil || len(lost) > 0 {`, `if err != nil || len(lost) > 1 {`, inLifecycle + "TestRecoverMakesNoInboxAgain",
	},
	{
		"an intent is written down", "internal/lifecycle/intent.go",
		`	i.owner, err = durable.Own(i.path, b)
	if errors.Is`, `	err = nil
	if errors.Is`, inLifecycle + "TestRecoverFromAnyPrefix",
	},
	{
		"an intent is settled", "internal/lifecycle/intent.go",
		`	if len(fix.Edits) > 0 {`, `	if false {`, inLifecycle + "TestRecover",
	},
	{
		"an intent waits for locks", "internal/lifecycle/intent.go",
		`if err := rc.Repo.Locks.Await(ctx, i.Edits); err != nil {`, `if err := error(nil); err != nil {`, inLifecycle + "TestRecoverWaits",
	},
	{
		"a git that confirms nothing is not waited for", "internal/refs/transaction.go",
		`if tooOld.Load() {`, `if tooOld.Load() && false {`, "./internal/refs -run TestApplyWithAGitThatIsTooOld",
	},
	{
		"the lock of reftables is named", "internal/refs/locks.go",
		`paths := []string{lk.tables(), filepath.Join(`, `paths := []string{filepath.Join(`, "./internal/refs -run TestLockOfReftables",
	},
	{
		"an intent of the living is left alone", "internal/lifecycle/intent.go",
		`|| durable.Owned(i.path) {`, `|| durable.Owned("") {`, inLifecycle + "TestRecover",
	},
	// The lane decides.
	{
		"a commit that the lane does not name changes nothing", "internal/lifecycle/state.go",
		`for n > 0 && s.Chain[n-1].OID != s.Payload && !s.logged(s.Chain[n-1].Commit) {`, `for false {`, inLifecycle + "TestHalfAStep",
	},
	{
		"the next step overwrites such a commit", "internal/lifecycle/engine.go",
		`b.move(b.home.Namespace().Inbox(rec.To, s.ID), s.tips[rec.To], o)`, `b.move(b.home.Namespace().Inbox(rec.To, s.ID), s.base(), o)`, inLifecycle + "TestHalfAStep",
	},
	{
		"an offer overwrites such a commit", "internal/lifecycle/end.go",
		`b.move(b.home.Namespace().Inbox(agent, p.Record.ID), s.tips[agent], p.Commit)`, `b.move(b.home.Namespace().Inbox(agent, p.Record.ID), "", p.Commit)`, inLifecycle + "TestOfferOverwrites",
	},
	{
		"a payload in an inbox that it never reached is sent again", "internal/lifecycle/state.go",
		`return len(s.Chain) > 0 && (s.Agent == s.To || s.Agent == refs.Nobody)`, `return len(s.Chain) > 0`, inLifecycle + "TestHalfAStep",
	},
	{
		"a handoff that only looks held is taken", "internal/app/take/offers.go",
		`return t.heldWithoutEntry(ctx, held[:min(len(held), fewestOffers)])`, `return nil, nil`, inStress + "TestHalfAStepSeenFromElsewhere",
	},
	{
		"the guard takes no commit without its entry", "internal/guard/judge.go",
		`	if s.Unlogged() {
		return unlogged(s)
	}
	if logged`, `	if logged`, "./internal/guard -run TestUnlogged",
	},
	{
		"a staged child waits for its parent's receipt", "internal/outbox/outbox.go",
		`		return false, nil // the reroute was cut off: it is to be repeated`,
		`		return true, nil`, inStress + "TestStagedChildWaitsForItsReroute",
	},
	// Beside gc.
	{
		"a pack is kept while a gc runs", "internal/refs/keep.go",
		`	return gc, st.WriteKept(ctx, objects)`, `	return gc, nil`, inRefs + "TestSecure",
	},
	{
		"a pack is kept before the refs move", "internal/refs/transaction.go",
		`if gc, err = r.Store.protect(ctx, gc, t.Objects); err != nil {`,
		`if err != nil {`, inRefs + "TestKeptBeforeTheRefsMove",
	},
	{
		"a young kept pack is not dropped beside a gc", "internal/refs/keep.go",
		`!gcStarted.IsZero() && gcStarted.Sub(info.ModTime()) < unmoved`, `false`, inRefs + "TestKeptBeforeTheRefsMove|TestSecure",
	},
	{
		"a young kept pack is not dropped where no gc runs", "internal/refs/keep.go",
		`time.Since(info.ModTime()) < unmoved ||`, ``, inRefs + "TestKeptBeforeTheRefsMove",
	},
	{
		"gc leaves the record of a child that may still come into the outbox", "internal/outbox/outbox.go",
		`durable.Stale(info, now) {`, `(durable.Stale(info, now) || true) {`, inScript + "gc_leftovers",
	},
	{
		"gc leaves the record of a child in the outbox", "internal/outbox/outbox.go",
		`; oid == "" && serr`, `; (oid == "" || true) && serr`, inScript + "gc_leftovers",
	},
	{
		"what a gc took is written again", "internal/refs/keep.go",
		`	return st.Write(objects...)`, `	return nil`, inRefs + "TestSecure",
	},
	{
		"an object that is there is made fresh", "internal/refs/store.go",
		`if unix.Utimes(path, nil) == nil {`, `if unix.Access(path, unix.F_OK) == nil {`, inRefs + "TestWriteFreshens",
	},
	{
		"fetched objects are packed where a gc began", "internal/crossrepo/fetch.go",
		`			err = packFetched(ctx, h)
`, ``, inCrossrepo + "TestGCBeginsDuringAFetch",
	},
	{
		"copies that a gc broke during a fetch are fetched again", "internal/crossrepo/fetch.go",
		`errors.Join(err, h.Repo.Apply(ctx, refs.Transaction{Edits: copies}))`, `errors.Join(err)`, inCrossrepo + "TestGCBeginsDuringAFetch",
	},
	{
		"a hub that lists a ref which cannot be copied hides no other offer", "internal/app/take/handler.go",
		`!errors.Is(err, crossrepo.ErrReadInPart)`, `(true || !errors.Is(err, crossrepo.ErrReadInPart))`, inStress + "TestLyingHub",
	},
	{
		"a broken copy of a hub that is away is not refused", "internal/app/take/offers.go",
		`case fault.CodeOf(it.Fault) == fault.Unavailable:`, `case false:`, inScript + "resume_broken_copy",
	},
	{
		"a copy that a gc broke is brought again", "internal/crossrepo/mend.go",
		`brought, dropped, err := h.mend(ctx, h.restorable()...)`, `brought, dropped, err := h.mend(ctx)`, inCrossrepo + "TestFetchIntoBroken",
	},
	// Roles.
	{
		"a sender offers under its own names", "internal/lifecycle/steps.go",
		`return key.MayAct(sign.RoleSender, from, at)`, `return nil`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"a recipient claims in its own inboxes", "internal/lifecycle/steps.go",
		`return a.key.MayAct(sign.RoleRecipient, a.state.To, a.at)`, `return nil`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"nobody claims what is held", "internal/lifecycle/steps.go",
		`{Recipient, Free}`, `{Recipient, Always}`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"only the holder renews and acknowledges", "internal/lifecycle/steps.go",
		`return s.Claim != nil && a.key.KID() == s.Claim.Key && a.step.Claim == s.Claim.Nonce`, `return true`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"a root key does not pose as the holder", "internal/lifecycle/steps.go",
		`{record.Acknowledged, []Right{{TheHolder, Always}}`, `{record.Acknowledged, []Right{{TheHolder, Always}, {Root, Always}}`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"a retired key takes no step", "internal/lifecycle/steps.go",
		`if err := key.ValidAt(t); err != nil {`, `if err := key.ValidAt(t); err != nil && false {`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"a source does not revoke what is held", "internal/lifecycle/steps.go",
		`{record.Revoked, []Right{{TheSource, Free}`, `{record.Revoked, []Right{{TheSource, Always}`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"a record names the key that signed it", "internal/lifecycle/keys.go",
		`key.KID() != c.Record.Key`, `false`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	// The place.
	{
		"an entry is for the home where it is found", "internal/lifecycle/replay.go",
		`if !home.Is(r.Home) {`, `if false {`, inLifecycle + "TestRoles|TestEntries|TestRetired|TestOffer|TestVerify",
	},
	{
		"a payload is in the inbox that its lane names", "internal/lifecycle/verified.go",
		`case v.state.Agent != v.state.To && v.state.Agent != refs.Nobody:`, `case v.state.Agent == "" && v.state.Agent != refs.Nobody:`, inLifecycle + "TestVerify",
	},
	{
		"an alias stays where it was pinned", "internal/crossrepo/alias.go",
		`return nil, false, errOtherRepo(a)`, `return a, true, nil`, inCrossrepo + "TestAlias",
	},
	{
		"a hub has one URL for both directions", "internal/crossrepo/alias.go",
		`oneHub := want == got ||`, `oneHub := want != "" ||`, inCrossrepo + "TestAlias",
	},
	// The environment and options of git.
	{
		"git follows no replacements", "internal/gitexec/env.go",
		`		"GIT_NO_REPLACE_OBJECTS=1",
`, ``, inGitexec + "TestRunGit",
	},
	{
		"git speaks the five transports only", "internal/gitexec/env.go",
		`		"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
`, ``, inGitexec + "TestEnviron",
	},
	{
		"git runs no hooks", "internal/gitexec/run.go",
		`	"-c", "core.hooksPath=/dev/null",
`, ``, inGitexec + "TestRunGit",
	},
	{
		"git children have a session of their own", "internal/gitexec/run.go",
		`Setsid: true`, `Setsid: false`, inGitexec + "TestChildren|TestKillEnds",
	},
	// Pushes into a guarded hub, and the messages of commits.
	{
		"an agent is known however its signature is written", "internal/guard/signed.go",
		`kid, err := cj.agents.Of(s.signature)`, `kid, err := "", error(nil)`, "./internal/attack -run TestCodeByAgents",
	},
	{
		"nothing is packed into a signature", "internal/sign/author.go",
		`if tag != signatureTag {`, `if tag == 255 {`, "./internal/sign -run TestAuthors",
	},
	{
		"a list of keys brings no history", "internal/guard/published.go",
		`if parent != e.Old {`, `if parent == "" {`, "./internal/cli -run TestScript/hook_server",
	},
	{
		"a symbolic ref is also what it stands for", "internal/guard/code.go",
		`return []string{ref, strings.TrimSpace(string(out))}, err`, `return []string{ref, strings.TrimSpace(string(out))}[:1], err`, "./internal/cli -run TestScript/hook_server_code",
	},
	{
		"a scope leads where it says", "internal/obo/verified.go",
		` && !astray(scope) {`, ` {`, "./internal/obo -run TestAllows",
	},
	{
		"trailers alone are no message", "internal/app/githook/message.go",
		`	if len(lines) == 0 {`, `	if false {`, "./internal/cli -run TestScript/hook_commit_message",
	},
	{
		"a template that was left alone is no message", "internal/app/githook/message.go",
		`if slices.Equal(lines, template.textLines()) {`, `if len(template.textLines()) < 0 {`, "./internal/cli -run TestScript/hook_commit_message",
	},
}
