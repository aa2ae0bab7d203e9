package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
)

// runCaptured runs an agent, then takes what it left. What would refuse every
// handoff is found out before the agent has worked for nothing.
func (a *app) runCaptured(ctx context.Context, o *captureOptions, argv []string) error {
	if o.to != "" {
		if err := a.rehearse(ctx, o); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "githandoff-capture-")
	if err != nil {
		return fmt.Errorf("make a private directory: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "handoff.json")
	// A signal is the agent's to judge; what it left is handed over after it.
	ctx = context.WithoutCancel(ctx)
	code, err := gitexec.Pipe(ctx, a.Dir, withVar(a.Vars, handoffPath, path), argv, a.Stdin, a.Stdout, a.Stderr)
	if err != nil {
		a.fail(fault.New(fault.NotFound, fault.NoSuchCommand, "%w", err))
		return exitStatus(code)
	}
	left, err := a.takeLeft(ctx, o, path)
	if err != nil {
		a.Warn(err)
	}
	if !left {
		return a.leftNothing(o, code)
	}
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// leftNothing says that nothing was handed over. Whoever named a target waits for
// a handoff there: for them a command that succeeded and left none is a failure.
func (a *app) leftNothing(o *captureOptions, code int) error {
	nothing := fault.New(fault.NotFound, fault.NothingLeft, "the command left no file at $%s: nothing is handed over", handoffPath).
		WithHints(fault.Run("githandoff", "help", "formats").Because("shows what an agent writes there"))
	switch {
	case code == 0 && o.to != "":
		return nothing
	case o.to != "":
		a.Warn(nothing)
	}
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// rehearse opens and closes what emit will need. The agent may change HEAD, so
// nothing of it is kept.
func (a *app) rehearse(ctx context.Context, o *captureOptions) error {
	d, err := a.desk(ctx, signs)
	if err != nil {
		return err
	}
	if _, err := a.address(ctx, d, o.to, &handoff.Envelope{}); err != nil {
		return err
	}
	a.close()
	a.repo = nil
	return nil
}

func withVar(vars []string, name, value string) []string {
	var out []string
	for _, kv := range vars {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}

// takeLeft hands over what the command left, if it left a file.
func (a *app) takeLeft(ctx context.Context, o *captureOptions, path string) (left bool, err error) {
	doc, err := leftAt(path)
	if err != nil || doc == nil {
		return err != nil, err
	}
	return true, a.handOn(ctx, o, doc)
}

func (a *app) handOn(ctx context.Context, o *captureOptions, doc []byte) error {
	env, err := a.captured(o, doc, "")
	sent := false
	switch {
	case err != nil:
	case o.to != "", env.Target.Agent != nil, env.Status != handoff.StatusComplete:
		sent, err = a.emitCaptured(ctx, o, env)
	default:
		err = a.printBlock(env)
	}
	if err == nil || sent {
		return err
	}
	kept, kerr := a.setAside(ctx, doc)
	if kerr != nil {
		return errors.Join(err, kerr)
	}
	return about("what the command left is kept as "+kept, err)
}

// setAside keeps a document that was refused: an agent may have worked long for
// it. Where there is no repository, it is kept among the temporary files.
func (a *app) setAside(ctx context.Context, doc []byte) (string, error) {
	dir := os.TempDir()
	if repo, err := a.openRepo(ctx); err == nil {
		dir = repo.OwnWorktree("")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "captured-*.json"+rejected)
	if err != nil {
		return "", err
	}
	_, err = f.Write(doc)
	return f.Name(), errors.Join(err, f.Close())
}
