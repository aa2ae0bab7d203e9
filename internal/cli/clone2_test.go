package cli_test

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"githandoff/internal/gittest"
)

// clones has the files that clone2 makes, which takes 65 processes. No clone has read the hub yet, so only paths
// differ.
var clones gittest.Copies

func clone2(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: clone2")
	}
	if !pristine(ts) {
		makeClones(ts)
		return
	}
	fill := func() error { makeClones(ts); return nil }
	ts.Check(clones.Fill(fill, ts.Getenv("HOME"), ts.MkAbs("hub.git"), ts.MkAbs("src"), ts.MkAbs("tgt")))
}

// pristine reports whether clone2 makes the same in a script as in every other one.
func pristine(ts *testscript.TestScript) bool {
	home, err := os.ReadDir(ts.Getenv("HOME"))
	ts.Check(err)
	config := ts.ReadFile(ts.Getenv("GIT_CONFIG_GLOBAL"))
	return len(home) == 1 && config == gittest.GitConfig("Alice", "alice@example.com") && ts.Getenv("CLOCK") == "" && ts.MkAbs(".") == ts.Getenv("WORK")
}

func makeClones(ts *testscript.TestScript) {
	hub, src, tgt := ts.MkAbs("hub.git"), ts.MkAbs("src"), ts.MkAbs("tgt")
	run(ts, "git", "init", "--quiet", "--bare", hub)
	run(ts, "git", "clone", "--quiet", hub, src)
	run(ts, "git", "-C", src, "commit", "--quiet", "--allow-empty", "-m", "first")
	run(ts, "git", "-C", src, "push", "--quiet", "origin", "HEAD")
	run(ts, "git", "clone", "--quiet", hub, tgt)
	run(ts, "githandoff", "-C", src, "init", "--as", "investigator")
	run(ts, "githandoff", "-C", tgt, "init", "--as", "fixer")
	run(ts, "githandoff", "-C", src, "trust", "add", "fixer")
	run(ts, "githandoff", "-C", tgt, "trust", "add", "investigator")
}
