package main

// Packages, and tests in them that are to notice.
const (
	inPrivate = "./internal/private -run "
	inCLI     = "./internal/cli -run "
)

// ofPlace are the guards of where a command runs, whose files it believes, and whose key
// signs.
var ofPlace = []mutant{
	{
		"a home that cannot be looked at is not to be made writable", "internal/refs/disk.go",
		`&& looked(err):`, `&& false:`, "./internal/refs -run TestDiskFaultOfALook",
	},
	{
		"what a hook manager moved aside goes if it is ours", "hooks/hooks.go",
		`moved.exists && originOf(moved.data) == intact {`, `moved.exists && originOf(moved.data) == intact && false {`, "./hooks -run TestUninstall_movedByAnother",
	},
	{
		"what a hook manager keeps to put it back goes if it is ours", "hooks/hooks.go",
		`{runSuffix, keptSuffix}`, `{runSuffix}`, inScript + "hook_uninstall_left",
	},
	{
		"what a hook manager only keeps is no hook that runs", "hooks/hooks.go",
		`slices.Contains(p.asides, p.path+runSuffix)`, `len(slices.Clip(p.asides)) > 0`, inScript + "hook_uninstall_left",
	},
	{
		"an uninstalled hook does not come back with the directory of git", "internal/app/hookinstall/clone.go",
		`more, err = h.uninstallUnused()`, `more = nil`, inScript + "hook_uninstall_left",
	},
	{
		"init says once where a hub keeps its handoffs", "internal/cli/init.go",
		`(!done.Fresh || !needsPrefix(ctx, c.app))`, `!needsPrefix(ctx, c.app)`, inScript + "prefix_move",
	},
	{
		"an uninstall names what it leaves where git does not look", "internal/app/hookinstall/clone.go",
		`r.Before.Unused() && r.Backup == ""`, `r.Before.Unused()`, inScript + "hook_uninstall_left",
	},
	{
		"the directory that other worktrees use is left alone", "internal/app/hookinstall/clone.go",
		`err == nil && scope != "" && scope != ofWorktree`, `err == nil && scope != ""`, inScript + "hook_uninstall_left",
	},
	{
		"where git runs no hooks, an uninstall leaves none behind", "internal/app/hookinstall/clone.go",
		`fault.Is(err, fault.HooksOff) && scope != "" && scope != ofWorktree`, `false`, inScript + "hook_uninstall_left",
	},
	{
		"where git runs no hooks in one worktree, those of the others stay", "internal/app/hookinstall/clone.go",
		`fault.Is(err, fault.HooksOff) && scope != "" && scope != ofWorktree`, `fault.Is(err, fault.HooksOff)`, inScript + "hook_uninstall_left",
	},
	{
		"a file in the place of the hooks directory is not said to be a setting", "internal/gitconfig/hooksdir.go",
		`if scope == "" && err == nil {`, `if false {`, inScript + "hook_install",
	},
	{
		"an uninstall says what still calls githandoff", "internal/app/hookinstall/clone.go",
		`hooks.MarkCalled(done, h.Repo.Worktree, dir, commands)`, `hooks.MarkCalled(nil, h.Repo.Worktree, dir, commands)`, inScript + "hook_uninstall_left",
	},
	{
		"a command of the configuration calls githandoff for its own hook alone", "hooks/manager.go",
		`calls([]byte(command), r.Name)`, `calls([]byte(command), "post-commit")`, "./hooks -run TestCloneStatus_commands",
	},
	{
		"a hook of the configuration that was switched off calls nothing", "internal/gitconfig/hooksdir.go",
		`repo.Config.Off("hook."+name+".enabled") ||`, ``, "./internal/gitconfig -run TestHookCommands",
	},
	{
		"a git that is too old runs no hook of the configuration", "internal/gitconfig/hooksdir.go",
		`err != nil || !known {`, `err != nil && !known {`, "./internal/gitconfig -run TestHookCommands",
	},
	{
		"what calls githandoff already does not get a second hook", "internal/app/hookinstall/clone.go",
		`return r.After != hooks.Called`, `return true`, inScript + "hook_install_elsewhere",
	},
	{
		"what simple-git-hooks has not copied to a hook yet calls nothing", "hooks/manager.go",
		`managed && m.Name != simpleHooks {`, `managed {`, inScript + "hook_install_elsewhere",
	},
	{
		"a hook of overcommit, which looks at its name, is not chained", "hooks/manager.go",
		`		return overcommit
	}`, `		return ""
	}`, "./hooks -run TestDetectManager",
	},
	{
		"a hook in another language that looks at its name is told apart", "hooks/kept.go",
		`p.any.Match(kept) &&`, `true &&`, "./hooks -run TestInstall_misnamed",
	},
	{
		"an install says that a hook sees another name", "internal/cli/hook.go",
		`if r.Misnamed() {`, `if false {`, inScript + "hook_install",
	},
	{
		"a package that only depends on simple-git-hooks is not run by it", "hooks/manager.go",
		`npm[simpleHooks] != nil {`, `strings.Contains(string(data), simpleHooks) {`, "./hooks -run TestDetectManager",
	},
	{
		"a hook from before us has its name", "hooks/kept.go",
		`			asks = true`, `			_ = asks`, "./hooks -run TestHook_keptHookHasItsName",
	},
	{
		"a hook from before us that reads itself is run as it is", "hooks/kept.go",
		`		case !p.says.Match(line):
			return ""`, `		case !p.says.Match(line):`, "./hooks -run TestHook_keptHookHasItsName",
	},
	{
		"a hook from before us that follows its link is run as it is", "hooks/kept.go",
		`case p.file.Match(line):`, `case false:`, "./hooks -run TestHook_keptHookHasItsName/follows",
	},
	{
		"a hook from before us that runs git leaves its names to other hooks", "hooks/script/part/before.sh",
		`*' '*' '*' '*) shell= ;;`, `?*) shell= ;;`, "./hooks -run TestHook_keptHookStartsMore/git",
	},
	{
		"a hook from before us that compares its name is run as it is", "hooks/kept.go",
		`first == nil || bytes.Contains(kept, []byte("BASH_SOURCE")) || `, `first == nil || `, "./hooks -run TestHook_keptHookHasItsName",
	},
	{
		"a hook from before us that starts itself again goes on in itself", "hooks/script/part/before.sh",
		` $PPID "*) [ ! -x "$before" ] || exec "$before" "$@"`, ` $PPID "*)`, "./hooks -run TestHook_keptHookStartsMore/itself",
	},
	{
		"what a hook manager moved aside stays if it was edited", "hooks/hooks.go",
		`moved.exists && originOf(moved.data) == intact {`, `moved.exists {`, "./hooks -run TestUninstall_movedByAnother",
	},
	{
		"a relative place is refused", "internal/private/file.go",
		`case !filepath.IsAbs(base):`, `case false:`, inPrivate + "TestRelativePlaces",
	},
	{
		"a home that is no path is not one", "internal/private/file.go",
		`if home := getenv("HOME"); filepath.IsAbs(home) {`, `if home := getenv("HOME"); home != "" {`, inPrivate + "TestHomeThatIsNoPath",
	},
	{
		"each directory up to the home is looked at", "internal/private/check.go",
		`for d := filepath.Dir(base); d != home; d = filepath.Dir(d) {`, `for d := base; d != base; d = filepath.Dir(d) {`, inPrivate + "TestPlacesThatOthersCanChange",
	},
	{
		"what a link leads to is looked at", "internal/private/check.go",
		`return checkAbove(behind, realHome)`, `_ = realHome; return checkAbove(behind, behind)`, inPrivate + "TestPlacesThatOthersCanChange",
	},
	{
		"a link to a directory is not followed", "internal/private/check.go",
		`if e.Type()&fs.ModeSymlink != 0 {`, `if false {`, inPrivate + "TestCheckTree",
	},
	{
		"a group with another member is somebody else", "internal/private/check.go",
		`if slices.ContainsFunc(strings.Split(fields[3], ","), others) {`, `if slices.ContainsFunc(strings.Split(fields[3], ","), others) && name == "" {`, inPrivate + "TestAloneInGroup",
	},
	{
		"a group that another user begins with is somebody else", "internal/private/check.go",
		`if fields[3] == id && fields[0] != name {`, `if fields[3] == id && name == "" {`, inPrivate + "TestAloneInGroup",
	},
	{
		"a group that nobody can list is somebody else", "internal/private/check.go",
		`return known`, `return known || true`, inPrivate + "TestAloneInGroup",
	},
	{
		"only the group's bit is let pass", "internal/private/check.go",
		`loose == groupWrite && forbidden == Others && ownGroup(group(info))`, `forbidden == Others`, inPrivate + "TestPlaces",
	},
	{
		"a directory is of its owner", "internal/private/check.go",
		`return Check(dir, info, Others, append([]uint32{uint32(os.Geteuid())}, owners...)...)`, `return Check(dir, info, Others, Owner(info))`, inRefs + "TestOpenWhatOthers",
	},
	{
		"githandoff's own directories are looked at", "internal/refs/repo.go",
		`		err = checkOwn(r)
`, `		_ = checkOwn(r)
`, inRefs + "TestOpenWhatOthers",
	},
	{
		"notes are read as ours alone", "internal/work/claim.go",
		`private.ReadState(d.Path(id), private.MaxState)`, `os.ReadFile(d.Path(id))`, "./internal/work -run TestNoteOfAnotherUserIsIgnored",
	},
	{
		"git does not get the private key", "internal/gitexec/env.go",
		`		case name == KeyVariable:
			continue
`, ``, inGitexec + "TestEnviron",
	},
	{
		"a program that is run does not get the private key", "internal/gitexec/pipe.go",
		`dir, withoutKey(env)`, `dir, env`, inGitexec + "TestPipe_key",
	},
	{
		"a worktree stays whose it is", "internal/app/initrepo/initrepo.go",
		`if now == "" || now == r.Agent || r.Force {`, `if true {`, inCLI + "TestScript/init_taken",
	},
	{
		"a root key is not used unasked", "internal/app/emit/wanted.go",
		`		case locked:
`, `		case locked, true:
`, inCLI + "TestScript/emit_onbehalf_unasked",
	},
	{
		"a refspec is added only where it is needed", "internal/gitconfig/refspec.go",
		`if slices.ContainsFunc(specs, reaches) {`, `if len(specs) > 0 {`, inCLI + "TestScript/init_refspec",
	},
	{
		"repo add refuses --move without a prefix before it adds the alias", "internal/cli/repocmd.go",
		`	if c.move && c.prefix == "" {`, `	if false {`, inScript + "prefix_move",
	},
	{
		"a URL is shown without its secret", "internal/cli/repocmd.go",
		`URL: al.URL.String(),`, `URL: string(al.URL),`, inCLI + "TestScript/init_taken",
	},
	{
		"a URL is printed without its secret", "internal/crossrepo/url.go",
		`return u.with("***", ":***")`, `return string(u)`, inCLI + "TestScript/secret_url",
	},
	{
		"a hint has a URL without its secret", "internal/crossrepo/url.go",
		`return u.with("", "")`, `return string(u)`, inCLI + "TestScript/secret_url",
	},
	{
		"an embedded repository is refused by its place", "internal/refs/believe.go",
		`if err := refuseEmbedded(workDir(r), r.GitDir); err != nil {`, `if err := refuseEmbedded(workDir(r), r.GitDir); err != nil && r.Bare {`, inRefs + "TestOpenEmbedded",
	},
	{
		"every directory above may be a work tree", "internal/refs/believe.go",
		`		if above == "/" {`, `		if above == "/" || looksBare(above) {`, inRefs + "TestOpenEmbedded",
	},
	{
		"githandoff looks at owners where git does not", "internal/refs/believe.go",
		`if err != nil || checks {`, `if err != nil || checks || true {`, inRefs + "TestOpenForeignWith",
	},
	{
		"a repository does not list itself as safe", "internal/refs/believe.go",
		`&gitexec.Runner{Dir: "/", Env: r.Runner.Env}`, `r.Runner`, inRefs + "TestOpenForeignSays",
	},
	{
		"nobody else can exchange the directory of a shared connection", "internal/sshshare/share.go",
		`if !guarded(filepath.Dir(dir)) {`, `if !guarded(filepath.Dir(dir)) && false {`, "./internal/sshshare -run TestSocketDir",
	},
	{
		"a worktree without its repository is told how it comes back", "internal/refs/discover.go",
		`return f.WithHints(lostWorktree(place)...)`, `return f`, "./internal/cli -run TestScript/repo_worktree_lost",
	},
	{
		"the setting that ends such a refspec works as pasted", "internal/cli/app.go",
		`range a.Pasted(problem.Hints) {`, `range problem.Hints {`, inScript + "emit_fetched",
	},
	{
		"a refspec that deletes handoffs is told of before it does", "internal/cli/app.go",
		`warnOfFetches(a, repo)
	}`, `}`, inScript + "emit_fetched",
	},
	{
		"a file system without hard links has new files", "internal/durable/file.go",
		`		if noLinks(err) {`, `		if noLinks(err) && false {`, "./internal/durable -run TestCreateFile",
	},
	{
		"a new file replaces none, where there are no hard links", "internal/durable/file.go",
		`if _, err := os.Lstat(path); err == nil {`, `if _, err := os.Lstat(path); err == nil && false {`, "./internal/durable -run TestCreateFile",
	},
	{
		"doctor does not tell a pusher that the trust list of a hub is its owner's", "internal/refs/writable.go",
		`if mine {`, `if true {`, inRefs + "TestCheckWritable",
	},
	{
		"doctor does not tell a reader that a repository is mounted read-only", "internal/refs/writable.go",
		`|| errors.Is(err, unix.EROFS)`, ``, inRefs + "TestCheckWritable",
	},
	{
		"what doctor advises opens a directory that lets nobody in", "internal/refs/writable.go",
		`"u+rwX"`, `"u+w"`, inRefs + "TestCheckWritable",
	},
	{
		"chmod is no hint where it changes nothing", "internal/private/check.go",
		`if !keepsModes(filepath.Dir(path)) {`, `if false {`, "./internal/private -run TestFileSystemWithoutModes",
	},
	{
		"a git that cannot be started says why", "internal/gitexec/run.go",
		"err = failure(ctx, c, cmd, err, p.stderr) // before done: it would be the reason\n\t\tdone()", "done()\n\t\terr = failure(ctx, c, cmd, err, p.stderr)",
		inGitexec + "TestStartFails",
	},
	{
		"git runs no hooks of the configuration", "internal/gitexec/run.go",
		`slices.Concat(gitSettings, r.withoutHooks(), args)`, `slices.Concat(gitSettings, args)`, inRefs + "TestOpenSwitches",
	},
	{
		"a process that was started ahead runs no hooks of the configuration", "internal/refs/repo.go",
		`		r.updater.stop((*gitexec.Process).Kill) // it`, `		// it`, inRefs + "TestOpenSwitches",
	},
}
