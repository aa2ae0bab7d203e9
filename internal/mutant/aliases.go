package main

// ofAliases are the guards of the names of hubs: aliases, ids, prefixes and moves.
var ofAliases = []mutant{
	without("a repository with nothing of a log gets none of it by a hint", "internal/crossrepo/repoid.go",
		`if absent < len(all) && len(lacking)`, `if len(lacking)`, inScript+"repo_names"),
	without("a hub with another history of a lane is given none of it by a hint", "internal/crossrepo/repoid.go",
		`} else if !behind {`, `} else if false && !behind {`, inScript+"repo_names_behind"),
	without("a queued handoff whose alias is gone stays until it expires", "internal/app/gc/gc.go",
		` || !c.Engine.Now().After(it.Record.Expires) {`, ` {`, inScript+"gc_expired"),
	without("a queued handoff that can be delivered stays", "internal/app/gc/gc.go",
		`!fault.Is(it.Fault, fault.UnknownHome)`, `it.Record == nil`, inScript+"gc_expired"),
	without("a hub that is down keeps no other handoff from being collected", "internal/app/gc/gc.go",
		`lifecycle.IsLocal(home) || fault.CodeOf(err) != fault.Unavailable {`, `lifecycle.IsLocal(home) || err != nil {`, inScript+"gc_hub_down"),
	without("an alias stays while handoffs sent there are open", "internal/cli/repo.go",
		`if it.Record != nil && slices.Contains(ids, it.Record.Home) {`, `if false {`, inScript+"repo_needed"),
	without("an alias stays while handoffs taken there are held", "internal/cli/repo.go",
		`if slices.Contains(ids, h.Home) {`, `if false {`, inScript+"repo_needed"),
	without("a move that was killed is finished", "internal/crossrepo/move.go",
		`return below(next.Root()) && !below(a.Root())`, `return below("")`, "./internal/cli -run TestScript/prefix_move"),
	without("a hub is taken for one that was moved only if its log continues there", "internal/crossrepo/elsewhere.go",
		`if contains(ctx, NewHub(&next, h.Repo, nil), known, there) == nil {`, `if len(known) >= 0 {`, "./internal/cli -run TestScript/prefix_move"),
	without("notes move with the handoffs", "internal/crossrepo/move.go",
		`there[notes] != "" && there`, `there[notes] == "" && there`, "./internal/cli -run TestScript/prefix_move"),
	without("another name of a hub is checked against its log", "internal/crossrepo/repoid.go",
		`h.extends(ctx, lane.now, lane.was); err != nil {
			return err
		} else if ok {`,
		`h.extends(ctx, lane.now, lane.was); err != nil {
			return err
		} else if ok || true {`,
		"./internal/cli -run TestScript/repo_names"),
	without("a repo id has one alias", "internal/crossrepo/repoid.go",
		`return as.pinned(other).Is(id) }); i >= 0 {`, `return as.pinned(other).Is(id) }); false {`,
		"./internal/cli -run TestScript/repo_names"),
	without("a hub of two names is one home", "internal/workspace/homes.go",
		`!slices.Contains(list, lifecycle.Home(hub)) {`, `hub != nil {`, inScript+"audit_two_names"),
	without("a remote of two places gets the pinned one", "internal/crossrepo/places.go",
		`known.RepoID != "" && !known.Is(id) {`, `known.RepoID == "-" {`, inScript+"repo_two_urls"),
	without("a further id is one of each name of a repository", "internal/crossrepo/repoid.go",
		`return a, len(compared), pinOthers(ctx, as, a)`, `return a, len(compared), nil`, inScript+"repo_slash"),
	without("a refused URL is not written down", "internal/crossrepo/repoid.go",
		`compared, err := remembers(ctx, hub, all)`,
		`_ = keep(ctx, as, a, placed)
	compared, err := remembers(ctx, hub, all)`, inScript+"repo_refused"),
	without("a token of a remote goes along", "internal/crossrepo/places.go",
		`url = urls[i]`, `_ = i`, inScript+"repo_slash"),
	without("an alias that goes leaves another name", "internal/cli/repo.go",
		`if open > 0 && aliases.NameOf(al.RepoID) == "" {`, `if open > 0 {`, inScript+"repo_slash"),
	without("a place of two that has a name already is told by it", "internal/crossrepo/places.go",
		`named := fault.As(as.free(alias, id)); named != nil {`, `named := fault.As(as.free(alias, id)); false {`, inScript+"repo_two_urls"),
	without("a remote of two places gets one of its own", "internal/crossrepo/places.go",
		`if own == "" && !slices.ContainsFunc(places(as, name), same) {`, `if false && same("") {`, inScript+"repo_two_urls"),
	without("an unusable alias hides no other one of its repository", "internal/crossrepo/alias.go",
		`unusable = cmp.Or(unusable, err)`, `return nil, err`, inCrossrepo+"TestAliasByID"),
	without("what was seen under another name is remembered", "internal/crossrepo/repoid.go",
		`	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
}

// pinAlso`, `	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits[:0]})
}

// pinAlso`, inCrossrepo+"TestAddAsKeepsTheMemoryOfAHub"),
	without("no two paths share an id", "internal/crossrepo/repoid.go",
		`c < ' ' || c > '~' || c == '%' && i+2`, `c < ' ' || c > '~' || c == 0 && i+2`, inCrossrepo+"TestRepoID"),
	without("a repository is not its own hub", "internal/crossrepo/repoid.go",
		`local && id == as.Repo.Config.Get("handoff.repoid")`, `false`, "./internal/cli -run TestScript/repo_names_own"),
	without("an ordinary fetch leaves handoffs below a prefix out", "internal/gitconfig/refspec.go",
		`		needed = append(needed, keepOutOf(prefix))
`, ``, "./internal/cli -run TestScript/prefix_life"),
	without("a prefix is a plain name", "internal/crossrepo/prefix.go",
		`		if !plain && (i == 0`, `		if !plain && false && (i == 0`, inCrossrepo+"TestCheckPrefix"),
	without("a foreign ref of a hub has no copy", "internal/crossrepo/names.go",
		`ok && rest != "" && rest != refs.NotesBelow`, `ok || rest != ""`, inCrossrepo+"TestNamesAtAHub"),
	without("a prefix below which the log is not is refused", "internal/crossrepo/prefix.go",
		`		if err := hasMemory(ctx, as, a, prefix); err != nil {
			return err
		}
`, ``, "./internal/cli -run TestScript/prefix_move"),
	without("the former names of moved handoffs are taken", "internal/crossrepo/move.go",
		`from.Alias.Root() + "inbox", New: commit.OID}, {Ref: from.Alias.Root() + "log"`,
		`from.Alias.Root() + "moved/a", New: commit.OID}, {Ref: from.Alias.Root() + "moved/b"`, "./internal/cli -run TestScript/prefix_move"),
	without("an invitation carries the prefix", "internal/app/join/handler.go",
		`	code.Prefix = hub.Alias.Prefix
`, ``, "./internal/cli -run TestScript/prefix_team"),
	without("a file becomes a branch in a commit", "internal/crossrepo/published.go",
		`	if h.Alias.Prefix == "" {
		return []*refs.Object{blob}`, `	if true {
		return []*refs.Object{blob}`, "./internal/cli -run TestScript/prefix_team"),
	without("a sync says that a hub has its log again from this clone", "internal/crossrepo/catchup.go",
		`h.given.Add(1)`, `h.given.Add(0)`, inScript+"sync_rewritten_signed"),
	without("lanes that go back in one push count", "internal/crossrepo/catchup.go",
		`h.given.Add(int64(len(some)))`, `h.given.Add(0)`, inCrossrepo+"TestCatchUpInOnePush"),
	without("a lane that a hub refuses by name keeps no other from a common push", "internal/crossrepo/catchup.go",
		`len(left) >= mostNamed {`, `len(left) >= 0 {`, inCrossrepo+"TestCatchUpInPart"),
	without("a lane that a stranger has merged keeps no other from being given back", "internal/crossrepo/catchup.go",
		`case err != nil:
			refused = cmp.Or(refused, err)`, `case err != nil:
			return err`, inCrossrepo+"TestRefusedLaneKeepsNoOtherBack"),
	without("lanes that arrived without an answer count", "internal/crossrepo/catchup.go",
		`h.given.Add(int64(len(lanes) - len(left)))`, `h.given.Add(0)`, inCrossrepo+"TestCatchUpInPart"),
	without("no alias leads to this repository itself", "internal/crossrepo/alias.go",
		`	if !own {
`, `	if true {
`, inScript+"repo_itself"),
	without("a relative path is looked at from each worktree", "internal/crossrepo/alias.go",
		`return a, pinned, movedByPlace(as, a)`, `return a, pinned, nil`, inScript+"repo_itself"),
	without("a renamed remote keeps what is pinned for its hub", "internal/crossrepo/alias.go",
		`string(url) || derived != "" && as.pinned(other).Is(derived) {
			return other`, `string(url) || derived != "" && as.pinned(other).Is(derived) {
			return name`, inScript+"repo_renamed"),
	without("the prefix of a hub is kept under its next name", "internal/crossrepo/alias.go",
		`cmp.Or(as.Repo.Config.Get(gitconfig.AliasPrefix(a.Name)), as.Repo.Config.Get(gitconfig.AliasPrefix(a.source)))`, `as.Repo.Config.Get(gitconfig.AliasPrefix(a.Name))`, inScript+"repo_renamed"),
	without("a renamed remote keeps it when its former name is another repository", "internal/crossrepo/alias.go",
		`		if _, err := as.Get(ctx, name); err != nil {
			return err`, `		if err := ctx.Err(); err != nil {
			return err`, inScript+"repo_renamed"),
	without("the name of a remote is no URL", "internal/crossrepo/alias.go",
		`if IsRemote(as.Repo.Config, url) && url != name {`, `if false {`, inCrossrepo+"TestAliasAdd"),
	without("a clone looks below the usual prefix", "internal/app/initrepo/publish.go",
		`!slices.Contains(homes, crossrepo.UsualPrefix)`, `slices.Contains(homes, homes[0])`, "./internal/cli -run TestScript/init_mirror"),
	without("a hub that was moved without its handoffs is told apart from a mirror that lags", "internal/crossrepo/repoid.go",
		`if len(there) == 0 {`, `if false {`, "./internal/cli -run TestScript/repo_moved_bare"),
	without("one repository has one prefix, under each of its names", "internal/crossrepo/prefix.go",
		`for _, name := range append(otherNames(as, a), a.Name) {
			one := *a
			one.Name, one.Prefix`, `for _, name := range []string{a.Name} {
			one := *a
			one.Name, one.Prefix`, inScript+"repo_renamed_back"),
}
