package main

// ofServers are the guards of a hub itself: of its guard, its server and their settings.
var ofServers = []mutant{
	without("a hub that hides what it takes is noticed with the first offer", "internal/app/emit/emit.go",
		`return done, crossrepo.CheckShows(ctx, hub, p.Record.ID)`, `return done, nil`, "./internal/cli -run TestScript/emit_hidden"),
	without("a hub that hides what it takes gets no further offer", "internal/crossrepo/hub.go",
		`	if !k.Moved && k.Unshown == ""`, `	if !k.Moved && true`, "./internal/cli -run TestScript/emit_hidden"),
	without("a hub that lost a ref is not said to hide it", "internal/crossrepo/shown.go",
		`return ok && line.flag != '*'`, `return ok && line.flag != 'x'`, "./internal/cli -run TestScript/emit_hidden"),
	without("a hub that begins to hide its log is noticed", "internal/crossrepo/elsewhere.go",
		`if !hides(ctx, &h.remote, lane) {`, `if true {`, "./internal/cli -run TestScript/emit_hidden"),
	without("a dry run whose refs were all accepted found no refusal", "internal/crossrepo/refusal.go",
		`return gitexec.ExitCode(err) == 1 && r.Accepted(edits)`, `return gitexec.ExitCode(err) == 1 && r.Accepted(edits) && false`, "./internal/cli -run TestScript/doctor_hub"),
	without("a push whose refs were all accepted was made", "internal/crossrepo/remote.go",
		`if r.failedAfter(err, edits) {`, `if r.failedAfter(err, edits) && false {`, "./internal/cli -run TestScript/doctor_hub"),
	without("a push below a prefix goes to one repository", "internal/crossrepo/remote.go",
		`for h.Repo.Config.Get("remote."+target+".url") != "" {`, `for h.Repo.Config.Get("remote."+target+".url") != "" && false {`, "./internal/cli -run TestScript/prefix_life"),
	without("doctor names a hub that lost a lane", "internal/app/doctor/hubs.go",
		`case p.Lost != nil && (p.Here`, `case p.Lost != nil && false && (p.Here`, "./internal/cli -run TestScript/doctor_hub"),
	without("a trial is as large as a handoff can be", "internal/crossrepo/trial.go",
		`n, objects, err := trial(&h.remote, random, handoff.MaxEnvelope)`, `n, objects, err := trial(&h.remote, random, 1)`, "./internal/cli -run TestScript/doctor_try"),
	without("a push that is too large is refused for good", "internal/crossrepo/refusal.go",
		`strings.Contains(why, "unpacker error") && `, `false && `, "./internal/cli -run TestScript/doctor_try"),
	without("a hub that protects refs from deletion gets no work", "internal/crossrepo/trial.go",
		`|| strings.Contains(r.said, undeletable)`, ``, "./internal/cli -run TestScript/doctor_protected"),
	without("a hub that keeps nothing is not said to hide it", "internal/crossrepo/trial.go",
		`perr != nil && report.overtaken(h, deletion)`, `perr != nil && report.overtaken(h, deletion) && false`, "./internal/cli -run TestScript/doctor_try"),
	without("a guard that is gone is noticed", "internal/crossrepo/trial.go",
		`t.WasGuarded = guarded && !t.Guarded`, `t.WasGuarded = guarded && false`, "./internal/cli -run TestScript/doctor_try"),
	without("a guard's refusal names the handoff", "internal/guard/handoffs.go",
		`		if len(s.inbox) == 0 {`, `		if len(s.inbox) > 9 {`, "./internal/guard -run TestCheck_namesTheHandoff"),
	without("a copy of a key that git cannot read is not passed over", "internal/guard/published.go",
		`		return err
	}
	old, err := sign.ParsePublic(text)`, `		return nil
	}
	old, err := sign.ParsePublic(text)`, "./internal/guard -run TestCheck_unreadableKey"),
	without("a list of keys that git cannot read is not passed over", "internal/guard/listed.go",
		`return published.readable(ctx, commit)`, `return nil`, "./internal/guard -run TestTakeLists_unreadable"),
	without("a trial leaves nothing at the hub", "internal/crossrepo/trial.go",
		`		t.clean(context.WithoutCancel(ctx), &h.remote, inbox, work)
`, ``, "./internal/cli -run TestScript/doctor_try"),
	without("a hub that refuses the log alone is noticed", "internal/crossrepo/trial.go",
		`case !maps.Equal(report.below(`, `case false && !maps.Equal(report.below(`, "./internal/cli -run TestScript/doctor_try_parts"),
	without("a hub that hides the log alone is noticed", "internal/crossrepo/trial.go",
		`lines[name].flag == '!'`, `lines[name].flag == '?'`, "./internal/cli -run TestScript/doctor_try_parts"),
	without("a trial deletes what earlier ones left", "internal/crossrepo/trial.go",
		`		t.sweep(ctx, h, there)
`, ``, inScript+"doctor_try_parts"),
	without("a trial leaves the probes of one that runs beside it", "internal/crossrepo/trial.go",
		`> probeAge {`, `> -1<<62 {`, inScript+"doctor_try_parts"),
	without("a guard takes nothing but a probe in its place", "internal/guard/published.go",
		`return pj.carries(ctx, e, handoff.MaxEnvelope)`, `return pj.carries(ctx, refs.Edit{}, handoff.MaxEnvelope)`, "./internal/cli -run TestScript/doctor_try_parts"),
	without("an audit passes over a probe", "internal/app/audit/compare.go",
		`case s.IsProbe(ref.Name):`, `case false:`, "./internal/cli -run TestScript/doctor_try_parts"),
	without("a deletion among refs that a hook refused as a whole is found", "internal/crossrepo/trial.go",
		`own, alone := r.culprits(), len`, `own, alone := r.culprits()[:0], len`, "./internal/cli -run TestScript/doctor_protected"),
	without("a guard judges what comes below its hub's prefix", "internal/app/hubguard/hubguard.go",
		`		g.KeepBelow(prefix)
`, ``, "./internal/cli -run TestScript/prefix_guard"),
	without("a snapshot below a prefix brings no code of an agent in", "internal/guard/fresh.go",
		`"--exclude="+n.prefix+"/work/*"`, `"--exclude="+n.prefix`, "./internal/cli -run TestScript/prefix_guard_laundered"),
	without("a guard takes a carrying commit without words or history of others", "internal/guard/published.go",
		`	if pj.carriers() {`, `	if false {`, "./internal/cli -run TestScript/prefix_guard"),
	without("a guard goes where the server does not overwrite it", "hooks/server.go",
		`		return path + ".d"
`, `		return dir
`, "./internal/cli -run TestScript/hook_server_forges"),
	without("a hub without its guard is a problem there", "internal/app/doctor/hooks.go",
		`	case meant:`, `	case false && meant:`, "./internal/cli -run TestScript/hook_server_forges"),
	without("the keys that an agent in a bare clone needs ask for no guard", "internal/app/doctor/hooks.go",
		`return !works && `, `return (works || !works) && `, "./internal/cli -run TestScript/doctor_well"),
}
