package main

// ofHints are the guards of the hints that a refused command prints, and of its exit code.
var ofHints = []mutant{
	without("the commands of a prompt take the global flags along", "internal/cli/prompt.go",
		`fault.Arg(a.Here(argv)...)`, `fault.Arg(argv...)`, inScript+"hint_prompt"),
	without("the commands of a prompt act in the worktree with the snapshot", "internal/cli/resume.go",
		`if !made.Here {`, `if false {`, inScript+"hint_prompt"),
	without("a hook names no directory in the commands of a prompt", "internal/cli/prompt.go",
		`case a.hook:`, `case false:`, inScript+"hook_agent_overdue"),
	without("a hint takes the global flags along", "internal/cli/output/invocation.go",
		`out = append(out, "-C", v.Dir)`, ``, "./internal/cli -run TestScript/hint_local"),
	without("a hint for a bare repository takes GIT_DIR along", "internal/cli/app.go",
		`a.GitDir = dir`, ``, inScript+"hint_git_dir"),
	without("an empty argument is not a missing one", "internal/cli/command.go",
		`if slices.Contains(args, "") {`, `if slices.Contains(args, "") && false {`, "./internal/cli -run TestScript/hint_typos"),
	without("flags that no handoff could have are refused first", "internal/cli/draft.go",
		`if err := d.check(); err != nil {`, `if err := d.check(); err != nil && false {`, "./internal/cli -run TestScript/hint_typos"),
	without("a color is one of three", "internal/cli/output/color.go",
		`if !slices.Contains(whens(), text) {`, `if !slices.Contains(whens(), text) && false {`, "./internal/cli -run TestScript/hint_typos"),
	without("capture for somebody says that nothing was left", "internal/app/capture/handler.go",
		`	if r.To != "" {
		return fault.New(fault.NotFound`, `	if false {
		return fault.New(fault.NotFound`, "./internal/cli -run TestScript/capture_nothing"),
	without("capture for somebody says that nobody got the document", "internal/app/capture/command.go",
		`code != 0 || sent || r.To == ""`, `code != 0 || sent || true`, "./internal/cli -run TestScript/capture_nothing"),
	without("a hub that lost a race, or says another word, is asked again", "internal/crossrepo/refusal.go",
		`case !slices.Contains(fault.Denials(), reason):`, `case false:`, inCrossrepo+"TestGuardRefusal"),
}
