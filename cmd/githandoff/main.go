// Command githandoff hands work from one coding agent to the next with nothing
// but git.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"githandoff/internal/cli"
)

var version = "" // set at link time

// stamped returns the version of this build: that of the linker, of the module as "go
// install" fetched it, or the commit that it was built from.
func stamped(info *debug.BuildInfo) string {
	if version != "" || info == nil {
		return cmp.Or(version, "dev")
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	rev := settings["vcs.revision"]
	if len(rev) > 12 {
		rev = rev[:12]
	}
	if rev != "" && settings["vcs.modified"] == "true" {
		rev += "-dirty"
	}
	return cmp.Or(rev, "dev")
}

// spareHeap lets the heap grow to 16 MB before garbage is collected for the first time: the few
// megabytes of most commands are not worth a collection. The first collection frees the pointer made
// here, and the cleanup of that pointer sets the usual limit for the next ones.
func spareHeap() {
	usual := debug.SetGCPercent(400)
	runtime.AddCleanup(new(*int), func(usual int) { debug.SetGCPercent(usual) }, usual)
}

func main() {
	spareHeap()
	info, _ := debug.ReadBuildInfo()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second one ends the process at once
	code := cli.Main(ctx, cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Vars: os.Environ(), Now: time.Now, Random: rand.Reader, Version: stamped(info),
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
