package main

// ofForeignText are the guards around the texts of others, when they are read, sent or shown:
// notes, drafts, texts of a command line.
var ofForeignText = []mutant{
	{
		"a note follows a commit that was amended while the handoff waited", "internal/annotate/notes.go",
		`	lines, err := n.followed(ctx, n.lines)
`, `	lines, err := n.lines, error(nil)
`, "./internal/cli -run TestScript/hook_rewrite_later",
	},
	{
		"the memory of rewritten commits is bounded", "internal/annotate/rewritten.go",
		`all[max(0, len(all)-maxRewritten):]`, `all`, "./internal/cli -run TestScript/hook_rewrite_later",
	},
	{
		"a line of notes is in form", "internal/notes/line.go",
		`if _, err := ParseLine(l); err == nil {`, `if true {`, "./internal/notes -run TestInForm",
	},
	{
		"a line of notes is of a handoff that a lane knows", "internal/annotate/confirm.go",
		`		c.unknown[e.ID] = true
		return false, nil`, `		c.unknown[e.ID] = true
		return true, nil`, inScript + "sync_notes$",
	},
	{
		"a line of notes has the digest of the lane", "internal/annotate/confirm.go",
		`state.Offer.Digest != e.Digest || state.Offer.From != e.From`, `state.Offer.From != e.From`, inScript + "sync_notes$",
	},
	{
		"a line of notes tells of an end that was", "internal/annotate/confirm.go",
		`return state.Receipt != nil && string(state.Receipt.Event) == e.Event, nil`, `return true, nil`, inScript + "sync_notes$",
	},
	{
		"small trees of notes are not walked to their end", "internal/notes/changes.go",
		`c.size += len(body) + treeCost`, `c.size += len(body)`, "./internal/notes -run TestChangesOfManyTrees",
	},
	{
		"a filter that fails quotes no sender", "internal/cli/cli.go",
		`err = fault.WithoutTexts(usage("%w", err).WithHints(seeOptions()))`, `err = usage("%w", err).WithHints(seeOptions())`, inScript + "help_filters",
	},
	{
		"an error that an expression of jq raises is a text", "internal/cli/filter/filter.go",
		`if raised, ok := errors.AsType[gojq.ValueError](err); ok {`, `if raised, ok := errors.AsType[gojq.ValueError](err); ok && false {`, inScript + "help_filters",
	},
	{
		"a tree of notes that nests is refused", "internal/notes/changes.go",
		`if known[tree] {`, `if false {`, "./internal/notes -run TestChangesOfNestedBombs",
	},
	{
		"what is no note refuses a tree of notes", "internal/notes/changes.go",
		`|| !file && !down {`, `|| false && !file && !down {`, "./internal/notes -run TestChangesRefuse",
	},
	{
		"a note has a limit", "internal/notes/line.go",
		`size > MaxNote {
			return lines[i+1:]`, `false {
			return lines[i+1:]`, "./internal/notes -run TestNotesAreBounded",
	},
	{
		"a guarded hub takes notes in form", "internal/guard/notes.go",
		`o == nil || !notes.InForm(o.Body)`, `o == nil`, inScript + "hook_server_notes",
	},
	{
		"a guarded hub takes no words in a commit of notes", "internal/guard/notes.go",
		`!alone && !onTop`, `false && !alone && !onTop`, inScript + "hook_server_notes",
	},
	{
		"a guarded hub takes notes of commits that it has", "internal/guard/notes.go",
		`case target.Type != "commit":`, `case target.Type == "tree":`, inScript + "hook_server_notes",
	},
	{
		"a task that is a text stays in the fence", "internal/untrusted/untrusted.go",
		`func IsTask(s string) bool { return outside(s, letters+"._-/#+") }`, `func IsTask(s string) bool { return s != "" }`, inScript + "show_outside",
	},
	{
		"a claim that a guard refused is forgotten", "internal/app/take/claim.go",
		`errors.Is(err, crossrepo.ErrGuard) || errors.Is(err, refs.ErrRefused)`, `errors.Is(err, crossrepo.ErrGuard) && errors.Is(err, refs.ErrRefused)`, inScript + "resume_guarded_push",
	},
	{
		"a refusal of a malformed object repeats no text of it", "internal/fault/fault.go",
		`if reason == MalformedObject {`, `if false {`, inScript + "show_outside",
	},
	{
		"a key's user id that is a text is not repeated", "internal/team/review.go",
		`untrusted.Owner(public.UserID())`, `public.UserID() + untrusted.Word("")`, "./internal/attack -run TestHubIsData",
	},
	{
		"a ref's name that is a text is not repeated: audit", "internal/app/audit/compare.go",
		`untrusted.Ref(ref.Name)`, `ref.Name + untrusted.Word("")`, inScript + "show_outside",
	},
	{
		"a ref's name that is a text is not repeated: lanes", "internal/crossrepo/learn.go",
		`untrusted.Ref(name), why`, `name+untrusted.Word(""), why`, inScript + "show_outside",
	},
	{
		"names of skills are words", "internal/cli/skills.go",
		`untrusted.Words(l.list)`, `strings.Join(l.list, ", ") + untrusted.Word("")`, inScript + "show_outside",
	},
	{
		"the branch and the files of a snapshot stand in the fence", "internal/cli/work.go",
		`_, err = t.Write(fenced)`, `_, err = t.Write(append(list, fenced[:0]...))`, inScript + "show_outside",
	},
	{
		"scopes that are texts stand in the fence", "internal/cli/obo.go",
		`		shown[i] = untrusted.Place(s)`, `		shown[i] = s`, "./internal/attack -run TestScopeIsData",
	},
	{
		"what a clone fetched under the id of a URL proves no other id", "internal/crossrepo/repoid.go",
		`return strings.HasPrefix(lane.Name, fetched) })`, `return lane.Name == fetched })`, "./internal/cli -run TestScript/repo_names_replay",
	},
	{
		"who may not break a claim is not told how", "internal/lifecycle/author.go",
		`if by.Actor != s.Offer.From && !by.IsRoot() {`, `if false {`, inScript + "hint_outsider",
	},
	{
		"no hint declares that two ids are one repository", "internal/crossrepo/repoid.go",
		`return []fault.Hint{fault.See("repo add").`, `return []fault.Hint{fault.Run("githandoff", "repo", "add", h.Alias.Name, string(h.Alias.URL), "--id", repoID).`, "./internal/cli -run TestScript/repo_names_replay",
	},
	{
		"a principal that is no mail stays in the fence", "internal/untrusted/untrusted.go",
		`!ok || !isMail(mail) || marked`, `!ok || mail == "" || marked`, inScript + "show_outside",
	},
	{
		"what stands outside has 64 bytes at most", "internal/untrusted/untrusted.go",
		`len(s) <= MaxOutside && strings.Trim`, `strings.Trim`, "./internal/untrusted -run TestOutside",
	},
	{
		"a name that is none is not repeated", "internal/untrusted/untrusted.go",
		`	return noName`, `	return s`, "./internal/untrusted -run TestOutside",
	},
	{
		"results are fenced", "internal/cli/show.go",
		`			_, _ = b.Write(fenced) // Lines take everything
		}
	}
	if v == nil {`, `			_, _ = b.Write([]byte(told + string(fenced[:0])))
		}
	}
	if v == nil {`, inScript + "show_outside",
	},
	{
		"a draft carries no authority", "internal/cli/hookrunwork.go",
		`Queue: true, Wanted: emit.Wanted{None: true},`, `Queue: true,`, inScript + "hook_draft_authority",
	},
	{
		"what is dated ahead of the clock is not handed over", "internal/app/githook/handover.go",
		`if !at.After(h.Now().Add(lifecycle.ClockSkew)) {`, `if !at.After(h.Now().Add(lifecycle.ClockSkew)) || true {`, inScript + "hook_ahead",
	},
	{
		"a draft is where others cannot put one", "internal/app/githook/draft.go",
		`err := private.CheckDir(dir)`, `_, err := dir, error(nil)`, inScript + "hook_draft_refused",
	},
	{
		"a draft in a place that is open is not set aside", "internal/app/githook/draft.go",
		`return nil, nil, fault.New(fault.Unavailable, refusal.Reason,`, `return nil, nil, fault.New(fault.Denied, refusal.Reason,`, inScript + "hook_draft_refused",
	},
	{
		"the end of a commit's id depends on its time", "internal/app/githook/commit.go",
		`strconv.FormatInt(c.at.Unix(), 10)`, `""`, inScript + "hook_trailer$",
	},
	{
		"two commits of one second are two handoffs", "internal/app/githook/log.go",
		`		n++
`, ``, inScript + "hook_trailer$",
	},
	{
		"a template hands nothing over", "internal/app/githook/message.go",
		`	"template": ` + "`(?im)^handoff-to[ \\t]*:[ \\t]*[^\\s]`" + `,
`, ``, "./internal/cli -run TestScript/hook_trailer_picked",
	},
	{
		"a commit with a borrowed date is no twin", "internal/app/githook/log.go",
		`l.authored == other.authored && l.committed == l.authored && other.committed == other.authored`,
		`l.authored == other.authored`, inScript + "hook_trailer$",
	},
	{
		"a text names no file elsewhere", "internal/cli/textvalue.go",
		`case !filepath.IsLocal(name):`, `case false:`, inScript + "emit_text_file",
	},
	{
		"a text names no secret", "internal/cli/textvalue.go",
		`	case secretName(name):`, `	case false:`, inScript + "emit_text_file",
	},
	{
		"a text names no link", "internal/cli/textvalue.go",
		`plain := info.IsDir() || info.Mode().IsRegular()`, `plain := info.Mode()&os.ModeNamedPipe == 0`, inScript + "emit_text_file",
	},
}
