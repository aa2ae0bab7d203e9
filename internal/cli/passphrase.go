package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"githandoff/internal/fault"
)

const maxPassphrase = 1 << 10 // bytes

// askHidden asks on the terminal for a line, without showing it.
func askHidden(prompt string) ([]byte, error) {
	return ask("passphrase", prompt, func(tty *os.File) ([]byte, error) {
		defer fmt.Fprintln(tty)
		line, err := term.ReadPassword(int(tty.Fd()))
		if err == nil && len(line) > maxPassphrase {
			return nil, usage("a passphrase has at most %d bytes", maxPassphrase)
		}
		return line, err
	})
}

// ask asks on the terminal itself, wherever the streams lead. A signal gives up the read, so that the
// terminal is restored before the process ends.
func ask(what, prompt string, read func(tty *os.File) ([]byte, error)) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fault.New(fault.Unavailable, fault.KeyLocked, "ask for a %s: %w", what, err)
	}
	defer tty.Close()
	shown, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return nil, fault.New(fault.Unavailable, fault.KeyLocked, "ask for a %s: %w", what, err)
	}
	defer func() { _ = term.Restore(int(tty.Fd()), shown) }()
	fmt.Fprint(tty, prompt)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	line, err := await(ctx, func() ([]byte, error) { return read(tty) })
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(tty)
	case err == nil || fault.As(err) != nil:
		return line, err
	}
	return nil, fault.New(fault.Interrupted, fault.WasInterrupted, "no answer was given")
}

// changePassphrase changes the passphrase of a key in the keystore.
func (c *keyCommand) changePassphrase(context.Context) error {
	if !c.attended() {
		return usage("cannot ask for a passphrase: there is no terminal")
	}
	store := c.keystore()
	public, err := store.Public(c.name)
	if err != nil {
		return err
	}
	return store.ChangePassphrase(public.KID(), func() ([]byte, error) {
		return newPassphrase(c.app, "new passphrase for the key of "+c.name)
	})
}

// newPassphrase asks a person for the passphrase of a key. An empty one, or no terminal, means none.
func newPassphrase(a *app, prompt string) ([]byte, error) {
	if !a.attended() {
		return nil, nil
	}
	first, err := askHidden(prompt + " (empty: none): ")
	if err != nil || len(first) == 0 {
		return nil, err
	}
	second, err := askHidden("the same again: ")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, usage("the two passphrases differ: run the same command again")
	}
	return first, nil
}
