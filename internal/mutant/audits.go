package main

// ofAudits are the guards of an audit's memory: each names a case in which the memory must not
// be believed.
var ofAudits = []mutant{
	{
		"an audit remembers a lane at one tip", "internal/audited/memory.go",
		`|| !l.sound || l.tip != at.OID {`, `|| !l.sound {`,
		"./internal/audited -run TestMemoryIsOfOneLane",
	},
	{
		"an audit remembers which inbox refs there were", "internal/audited/memory.go",
		`return l != nil && l.view == seen+view`, `return l != nil`,
		"./internal/audited -run TestMemoryIsOfOneLane",
	},
	{
		"an audit that compares inbox refs believes none that did not", "internal/audited/lanes.go",
		`!m.unchanged && l.view != v.view(lane) {`, `false {`,
		"./internal/audited -run TestMemory",
	},
	{
		"an audit compares the refs unless they are the ones that it found in order", "internal/audited/memory.go",
		`digest == m.clean && !slices`, `m.clean != "" && !slices`,
		"./internal/audited -run TestUnchanged",
	},
	{
		"refs are in order only with lanes that are sound", "internal/audited/memory.go",
		`return !m.sound(lane).clean() })
	return`, `return false })
	return`,
		"./internal/audited -run TestUnchanged",
	},
	{
		"refs are in order only with lanes whose inbox refs were compared", "internal/audited/memory.go",
		`return l != nil && l.sound && strings.HasPrefix(l.view, seen)`, `return l != nil && l.sound`,
		"./internal/audited -run TestUnchanged",
	},
	{
		"the hook of an agent reads a call that writes a large file", "internal/agents/call.go",
		`MaxInput = 8 << 20`, `MaxInput = 1 << 20`,
		"./internal/agents -run TestScopesOfALargeCall",
	},
	{
		"an audit notices that the commit of a ref is gone", "internal/app/audit/compare.go",
		`c.lost = !whole`, `c.lost = !whole && false`,
		"./internal/cli -run TestScript/audit_remembers",
	},
	{
		"a dispute of a lane that moves is told of once", "internal/app/audit/audit.go",
		`if said[f.words()] {`, `if false {`,
		"./internal/app/audit -run TestDisputeOfAMovingLane",
	},
	{
		"refs with a finding beside the lanes are not in order", "internal/app/audit/compare.go",
		`if c.faulty || len(c.open) > 0 {`, `if len(c.open) > 0 {`,
		"./internal/app/audit -run TestFoundEachTime",
	},
	{
		"refs that no lane speaks of are not in order", "internal/app/audit/compare.go",
		`if c.faulty || len(c.open) > 0 {`, `if c.faulty {`,
		"./internal/app/audit -run TestFoundEachTime",
	},
	{
		"entries that were read ahead are those of their lane", "internal/audited/lanes.go",
		`for len(r.lanes) > 0 && r.lanes[0] < lane.Name {
		r.skip()`, `for len(r.lanes) > 0 && r.lanes[0] < lane.Name {
		r.lanes = r.lanes[1:]`,
		"./internal/audited -run TestReadAhead",
	},
	{
		"what an audit remembers is for one trust", "internal/audited/memory.go",
		`[]string{program, trust, home.ID()}`, `[]string{program, home.ID()}[:len(trust)/32]`,
		"./internal/audited -run TestMemoryIsVoid",
	},
	{
		"what an audit remembers is for one program", "internal/audited/memory.go",
		`[]string{program, trust, home.ID()}`, `[]string{trust, home.ID()}`,
		"./internal/audited -run TestMemoryIsVoid",
	},
	{
		"what an audit remembers is for one home", "internal/audited/memory.go",
		`[]string{program, trust, home.ID()}`, `[]string{program, trust}`,
		"./internal/audited -run TestMemoryIsVoid",
	},
	{
		"what an audit remembers is whole", "internal/audited/memory.go",
		`if text[end:] != "sum "+digest(text[:end])+"\n" {`, `if !strings.HasPrefix(text[end:], "sum ") {`,
		"./internal/audited -run TestMemoryIsVoid",
	},
	{
		"what an audit remembers is in a private file", "internal/audited/memory.go",
		`private.ReadState(m.path, maxFile)`, `private.Read(m.path, 0, maxFile)`,
		"./internal/audited -run TestMemoryIsVoid",
	},
	{
		"a clock that was set back judges again", "internal/audited/memory.go",
		`if l.newest.After(m.opened.Add(lifecycle.ClockSkew)) {`, `if false {`,
		"./internal/audited -run TestMemoryIsOfOneLane",
	},
	{
		"a home that lost a name judges again", "internal/audited/memory.go",
		`if !m.home.Is(home) {`, `if !m.home.Is(home) && false {`,
		"./internal/audited -run TestMemoryIsOfOneLane",
	},
	{
		"a signature that was not checked is not remembered", "internal/audited/memory.go",
		`		if e.Signed {
			known`, `		if true {
			known`,
		"./internal/audited -run TestMemory",
	},
	{
		"a lane with a dispute is judged again", "internal/lifecycle/audit.go",
		`l.Sound = l.Sound && entry.Dispute == nil && !rd.dependent(entry)`, `l.Sound = l.Sound && !rd.dependent(entry)`,
		"./internal/lifecycle -run TestSoundLanes",
	},
	{
		"a lane that the clock decides about is judged again", "internal/lifecycle/audit.go",
		`|| !rd.Ahead.seen(entry.OID).IsZero() {`, `{`,
		"./internal/lifecycle -run TestSoundLanes",
	},
	{
		"a lane with a join is judged again", "internal/lifecycle/audit.go",
		`r.Event == record.Joined || len(entry.Commit.Parents) > 1 ||`, ``,
		"./internal/lifecycle -run TestSoundLanes",
	},
	{
		"a lane that stands on another lane is judged again", "internal/lifecycle/audit.go",
		`(entry.signature == nil || maySend(entry.signature.key, r.From, r.At) != nil)`, `entry.signature == nil`,
		"./internal/lifecycle -run TestSoundLanes",
	},
	{
		"a signature by another key than the entry names is not remembered", "internal/lifecycle/keys.go",
		`&& e.signature.key.KID() == e.Record().Key`, ``,
		"./internal/lifecycle -run TestSignaturesThatAreLearned",
	},
	{
		"a signature by a subkey is not remembered", "internal/sign/key.go",
		`return k.pin != nil && k.issuer == k.KID() }`, `return k.pin != nil }`,
		"./internal/sign -run TestGPGSubkey",
	},
	{
		"a sound lane that lost a commit is refused", "internal/lifecycle/audit.go",
		`		if o == nil || o.Type != "commit" {`, `		if o == nil {
			continue
		}
		if o.Type != "commit" {`,
		"./internal/lifecycle -run TestSoundLaneIsShown",
	},
	{
		"a lane with a finding is judged again", "internal/audited/lanes.go",
		`lesson.Sound = lesson.Sound && fine`, `lesson.Sound = lesson.Sound && (fine || true)`,
		"./internal/cli -run TestScript/audit_remembers",
	},
	{
		"an inbox ref that no entry speaks of is a finding of its lane", "internal/app/audit/compare.go",
		`			c.unlogged(lane.Name)
`, ``,
		"./internal/app/audit -run TestUnlogged",
	},
	{
		"an audit looks again where a ref of a finding moved", "internal/app/audit/settle.go",
		`if before[s.lane] != after[s.lane] || after[s.at.ref] != s.at.tip {`, `if before[s.lane] != after[s.lane] && false {`,
		"./internal/app/audit -run TestSettle",
	},
	{
		"an audit tells of what is still wrong after the second look", "internal/app/audit/audit.go",
		`	return again.tell()`, `	return nil`,
		"./internal/app/audit -run TestSettle",
	},
	{
		"an audit that looks again compares the lane that moved", "internal/app/audit/settle.go",
		`			moved[s.lane] = true`, `			moved[""] = true`,
		"./internal/app/audit -run TestSettle",
	},
	{
		"an inbox ref that holds something else is a finding of its lane", "internal/app/audit/compare.go",
		`return c.finding(lane, Finding{Reason: fault.MalformedObject`, `return c.Finding(c.home, Finding{Reason: fault.MalformedObject`,
		"./internal/app/audit -run TestMalformed",
	},
	{
		"what the lost entries of a lane say of an inbox ref is not known", "internal/app/audit/compare.go",
		`if f.Reason == fault.MissingObject {`, `if false {`,
		"./internal/app/audit -run TestLostObjects",
	},
	{
		"a handoff whose commit is lost here did not disappear", "internal/app/audit/compare.go",
		`case s.Receipt != nil, at != nil && at.wrong, at`, `case s.Receipt != nil, at`,
		"./internal/app/audit -run TestMalformed|TestLostObjects",
	},
	{
		"an audit names a hub to which no alias leads", "internal/app/audit/audit.go",
		`fault.Is(err, fault.UnknownHome) {
			h.W`, `false {
			h.W`, inScript + "audit_nameless",
	},
	{
		"doctor names a hub to which no alias leads", "internal/app/doctor/setup.go",
		`for _, id := range used {`, `for _, id := range used[:0] {`, inScript + "audit_nameless",
	},
	{
		"held handoffs of a hub without an alias count as well", "internal/workspace/homes.go",
		`ids = append(ids, h.Home)`, `_ = h`, "./internal/cli -run TestScript/audit_nameless",
	},
	{
		"a ref in another inbox is no inbox ref of the handoff", "internal/app/audit/compare.go",
		`return at.ref == name })`, `return at.ref == name || true })`, inScript + "audit_inboxes",
	},
	{
		"undecided handoffs alone are in the inbox of nobody", "internal/app/audit/compare.go",
		`s.ID, s.To, s.Offer.To)`, `s.ID, s.To, refs.Nobody)`, inScript + "audit_inboxes",
	},
	{
		"an inbox ref in another inbox is reported", "internal/app/audit/compare.go",
		`		case other != at:`, `		case other != at && false:`, inScript + "audit_inboxes",
	},
}
