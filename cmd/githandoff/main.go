// Command githandoff hands work from one coding agent to the next with nothing
// but git.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"syscall"
	"time"

	"githandoff/internal/cli"
)

var version = "dev" // set at link time

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Vars: os.Environ(), Now: time.Now, Random: rand.Reader, Version: version,
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
