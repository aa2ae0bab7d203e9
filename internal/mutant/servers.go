package main

// ofServers are the guards of the findings about the server of a hub.
var ofServers = []mutant{
	{
		"a hub that hides what it takes is noticed with the first offer", "internal/app/emit/emit.go",
		`return done, crossrepo.CheckShows(ctx, hub, p.Record.ID)`, `return done, nil`, "./internal/cli -run TestScript/emit_hidden",
	},
	{
		"a hub that hides what it takes gets no further offer", "internal/crossrepo/hub.go",
		`	if !k.Moved && k.Unshown == ""`, `	if !k.Moved && true`, "./internal/cli -run TestScript/emit_hidden",
	},
	{
		"a hub that lost a ref is not said to hide it", "internal/crossrepo/shown.go",
		`return err == nil && parseReport(out).flag[name] == '='`, `return err == nil && out != nil`, "./internal/cli -run TestScript/emit_hidden",
	},
	{
		"a hub that begins to hide its log is noticed", "internal/app/take/seen.go",
		`err := crossrepo.Hides(ctx, hub); err != nil`, `err := crossrepo.Hides(ctx, hub); err != nil && false`, "./internal/cli -run TestScript/emit_hidden",
	},
	{
		"a trial is as large as a handoff can be", "internal/crossrepo/probe.go",
		`edits, err := h.trial(now, random, handoff.MaxEnvelope)`, `edits, err := h.trial(now, random, handoff.MaxEnvelope-handoff.MaxEnvelope)`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"a push that is too large is refused for good", "internal/crossrepo/refusal.go",
		`strings.Contains(why, "unpacker error") && `, `false && `, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"a hub that keeps nothing is not said to hide it", "internal/crossrepo/probe.go",
		`perr != nil && report.overtaken(h, deletion)`, `perr != nil && report.overtaken(h, deletion) && false`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"a guard that is gone is noticed", "internal/crossrepo/probe.go",
		`WasGuarded: before.Guarded`, `WasGuarded: before.Guarded && false`, "./internal/cli -run TestScript/doctor_try",
	},
}
