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

// runAgent runs an agent, then takes what it left. What would refuse every
// handoff is found out before the agent has worked for nothing.
func (c *captureCommand) runAgent(ctx context.Context, argv []string) error {
	if c.to != "" {
		if err := c.rehearse(ctx); err != nil {
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
	code, err := gitexec.Pipe(ctx, c.Dir, withVar(c.Vars, handoffPath, path), argv, c.Stdin, c.Stdout, c.Stderr)
	if err != nil {
		c.fail(fault.New(fault.NotFound, fault.NoSuchCommand, "%w", err))
		return exitStatus(code)
	}
	left, err := c.takeLeftAt(ctx, path)
	if err != nil {
		c.Warn(err)
	}
	if !left {
		return c.leftNothing(code)
	}
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// leftNothing says that nothing was handed over. Whoever named a target waits for
// a handoff there: for them a command that succeeded and left none is a failure.
func (c *captureCommand) leftNothing(code int) error {
	nothing := fault.New(fault.NotFound, fault.NothingLeft, "the command wrote no file at $%s: nothing is handed over", handoffPath).
		WithHints(fault.Run("githandoff", "help", "formats").Because("shows what an agent writes there"))
	switch {
	case code == 0 && c.to != "":
		return nothing
	case c.to != "":
		c.Warn(nothing)
	case code == 0:
		c.Say("githandoff: %s", nothing.Message)
	}
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// rehearse opens and closes what emit will need. The agent may change HEAD, so
// nothing of it is kept.
func (c *captureCommand) rehearse(ctx context.Context) error {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	if _, err := senderOf(c.app, d).Address(ctx, c.to, &handoff.Envelope{}); err != nil {
		return err
	}
	c.close()
	c.repo = nil
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

// takeLeftAt hands over what the command left, if it left a file.
func (c *captureCommand) takeLeftAt(ctx context.Context, path string) (left bool, err error) {
	doc, err := leftAt(path)
	if err != nil || doc == nil {
		return err != nil, err
	}
	return true, c.handOver(ctx, doc)
}

func (c *captureCommand) handOver(ctx context.Context, doc []byte) error {
	env, err := c.read(doc, "")
	sent := false
	switch {
	case err != nil:
	case c.to != "", env.Target.Agent != nil, env.Status != handoff.StatusComplete:
		sent, err = c.emit(ctx, env)
	default:
		err = c.printBlock(env)
	}
	if err == nil || sent {
		return err
	}
	kept, kerr := c.setAside(ctx, doc)
	if kerr != nil {
		return errors.Join(err, kerr)
	}
	return fault.About("what the command left is kept as "+kept, err)
}

// setAside keeps a document that was refused: an agent may have worked long for
// it. Where there is no repository, it is kept among the temporary files.
func (c *captureCommand) setAside(ctx context.Context, doc []byte) (string, error) {
	dir := os.TempDir()
	if repo, err := c.openRepo(ctx); err == nil {
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
