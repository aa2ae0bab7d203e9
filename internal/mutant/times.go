package main

// ofTimes are the guards of the time and the author of an entry.
var ofTimes = []mutant{
	{
		"the trust of an invitation is not over when it begins", "internal/cli/invite.go",
		`if r.Until != "" && r.Until <=`, `if r.Until == "-" && r.Until <=`, inScript + "trust_until",
	},
	{
		"an entry that is ahead of the clock does not count", "internal/lifecycle/replay.go",
		`if r.At.After(now.Add(ClockSkew)) {`, `if false {`, inLifecycle + "TestClaimDatedAhead",
	},
	{
		"an entry that was overtaken while it was ahead never counts", "internal/lifecycle/replay.go",
		`	if seen.IsZero() {`, `	if true {`, inLifecycle + "TestClaimDatedAhead",
	},
	{
		"an entry is overtaken by keys that may take steps of its handoff", "internal/lifecycle/replay.go",
		`return maySend(key, from, r.At) == nil || key.MayAct(sign.RoleRecipient, to, r.At) == nil`, `return from != to`, inLifecycle + "TestOnlyThoseWhoMayStepOvertake",
	},
	{
		"a lease ends a day after its claim was seen", "internal/lifecycle/replay.go",
		`s.Lease = sooner(s.Lease, seen.Add(MaxLease))`, `_ = seen`, inLifecycle + "TestLeaseEndsADayAfterTheClaimWasSeen",
	},
	{
		"an entry is not older than what it stands on", "internal/lifecycle/steps.go",
		`floor, what := s.newest, "the entry below it"`, `floor, what := r.At, "the entry below it"`, inLifecycle + "TestEntryOlderThanItsPredecessorIsDisputed",
	},
	{
		"an entry is not older than its id", "internal/lifecycle/steps.go",
		`if born := r.ID.Time(); born.After(floor) {`, `if born := r.ID.Time(); false {`, inLifecycle + "TestEntryOlderThanItsPredecessorIsDisputed",
	},
	{
		"a commit bears a name of its key", "internal/sign/key.go",
		`case !is(actor):`, `case false:`, "./internal/sign -run TestCommitNamesItsKey",
	},
	{
		"an offer that is repeated says the same", "internal/lifecycle/steps.go",
		`return again.Actor == s.Offer.Actor && bytes.Equal(again.Message(), s.Offer.Message())`,
		`return true || bytes.Equal(again.Message(), s.Offer.Message())`, inLifecycle + "TestRepeatedOfferChangesNothing",
	},
	{
		"an offer that is repeated changes nothing", "internal/lifecycle/replay.go",
		`if r.Event == record.Joined || r.Event == record.Offered && s.Offer != nil {`, `if r.Event == record.Joined {`, inLifecycle + "TestRepeatedOfferChangesNothing",
	},
	{
		"what a retired key signed had been seen", "internal/lifecycle/history.go",
		`if len(key.Seen()) == 0 || key.Entry().Retired == "" && key.Revoked(l.Keys.now()) == nil {`, `if true {`, inLifecycle + "TestRetiredKeyDatesBack",
	},
	{
		"what a revoked key signed had been seen", "internal/lifecycle/history.go",
		`key.Entry().Retired == "" && key.Revoked(l.Keys.now()) == nil {`, `key.Entry().Retired == "" {`, inLifecycle + "TestRevokedKeyDatesBack",
	},
	{
		"an empty log is no evidence against a revoked key", "internal/team/witness.go",
		`empty && key.Entry().Retired == ""`, `!empty && empty && key.Entry().Retired == ""`, "./internal/cli -run TestScript/key_revoked_past",
	},
	{
		"the log is noted when a key is revoked", "internal/sign/trust.go",
		`k.pin.mayBeRevoked() && fault.Is(`, `k == Key{} && fault.Is(`, "./internal/sign -run TestLearnedRevocationStays",
	},
	{
		"a root that is none any more joins nothing", "internal/lifecycle/history.go",
		`if err == nil && key.ValidAt(l.Keys.now()) != nil {`, `if false {`, inLifecycle + "TestRetiredRootJoins",
	},
	{
		"a token counts by an entry of the holder that names the child", "internal/lifecycle/token.go",
		`if parent.Offer != nil && !parent.names(token.Handoff.ID, token.Issuer) {`, `if parent == nil {`, inLifecycle + "TestDelegationNeedsTheHolder",
	},
	{
		"only the holder names a child", "internal/lifecycle/replay.go",
		`if byHolder && r.Next != "" {`, `if (byHolder || true) && r.Next != "" {`, inLifecycle + "TestDelegationNeedsTheHolder",
	},
	{
		"a return handoff follows from a failure that counts", "internal/lifecycle/replay.go",
		`return over != nil && over.Event == record.Failed && over.Next == r.ID && over.Key == key.KID() &&`,
		`return (over == nil || over != nil) && len(s.Entries) > 1 &&`, inLifecycle + "TestRecipientMaySendBackItsFailure",
	},
	{
		"a return handoff goes where the offer says", "internal/lifecycle/replay.go",
		`r.To == cmp.Or(s.Offer.OnFailure, s.Offer.From) &&`, `cmp.Or(r.To, s.Offer.From) != "" &&`, inLifecycle + "TestRecipientMaySendBackItsFailure",
	},
	{
		"at a guarded hub a key is valid now", "internal/guard/judge.go",
		`		if err := key.ValidAt(at); err != nil {
			return err
		}
	} // who`, `		_, _ = at, key
	} // who`, "./internal/guard -run TestCheck_retiredKey",
	},
	{
		"the mail address of a commit is its key's", "internal/sign/key.go",
		`case !is(mail) && !is(strings.TrimSuffix(mail, agentDomain)):`, `case false:`, "./internal/sign -run TestCommitNamesItsKey",
	},
	{
		"a new handoff bears no mail address but its key's", "internal/lifecycle/steps.go",
		`if c.Record.ID.Time().Before(mailSince) {`, `if true || c.Record.ID.Time().Before(mailSince) {`, "./internal/attack -run TestMailIsAnAddressOfItsKey",
	},
	{
		"the entry of an older offer bears its mail address", "internal/lifecycle/end.go",
		`b.entry(ctx, p.mail, p.Record,`, `b.entry(ctx, sign.Mail(p.Record.Actor), p.Record,`, "./internal/lifecycle -run TestOfferFromTheOutboxOfAnEarlierVersion",
	},
	{
		"an offer with the mail address of another stays in the outbox", "internal/lifecycle/end.go",
		`if err := p.checkMail(e.Keys); err != nil {`, `if err := p.checkMail(e.Keys); false {`, "./internal/lifecycle -run TestOfferRefusesTheMailOfAnother",
	},
}
