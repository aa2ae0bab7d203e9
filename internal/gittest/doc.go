// Package gittest gives tests real git, real repositories of every kind, and
// real servers. Nothing here imitates git: a test that passes with this
// package has met the program that users run.
//
// A test of the program starts with a [Fixture]: a user, a hub, and clones of it in which
// agents work. Each repository runs the program that was built from this tree:
//
//	f := gittest.NewFixture(t)
//	boss, fixer := f.Pair(t) // they trust each other
//	id := boss.Must(t, "emit", "--quiet", "--to", "fixer@origin", "--goal", "g")
//	fixer.Must(t, "resume", id)
//	f.Twin(t, "twin", "fixer").Refuses(t, 5, []string{"held by fixer"}, "resume", id)
//
// A test of a package starts with an environment, then a repository in it:
//
//	env := gittest.Env(t)            // a user of its own: home, config, keyring
//	repo := gittest.NewRepo(t, env)  // an empty work tree
//	oid := repo.Commit(t, "a.txt", "one\n", "first")
//	repo.Git(t, "update-ref", "refs/heads/topic", oid)
//
// [Kinds] lists the ways in which a repository can be laid out (bare, linked
// worktree, submodule, partial clone, …), so that a test can run over each.
//
// A hub is a directory of bare repositories behind a server. [Daemon], [HTTP]
// and [SSH] each serve such a directory, and [Transports] lists every way to
// reach it, with whatever the client needs to be let in:
//
//	root := t.TempDir()
//	gittest.NewBareAt(t, env, filepath.Join(root, "hub.git"))
//	for _, tr := range gittest.Transports() {
//		base, env := tr.Serve(t, env, root)
//		clone := gittest.Clone(t, env, base+"/hub.git")
//		…
//	}
//
// Servers listen on 127.0.0.1, on a port that the kernel picks; they accept
// connections when the function returns, end with the test, and show their
// log if it failed. Each runs with an environment of its own, not with the
// client's: hooks on the server side see that one.
//
// Programs that not every machine has (lighttpd, sshd, gpg) are asked for
// with [Need], which skips the test, or fails it where the variable CI says
// that nothing may be missing.
package gittest
