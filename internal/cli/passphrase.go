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

// askHidden reads a line from the terminal itself, wherever the streams lead, without showing it.
func askHidden(prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fault.New(fault.Unavailable, fault.KeyLocked, "ask for a passphrase: %w", err)
	}
	defer tty.Close()
	fd := int(tty.Fd())
	shown, err := term.GetState(fd)
	if err != nil {
		return nil, fault.New(fault.Unavailable, fault.KeyLocked, "ask for a passphrase: %w", err)
	}
	defer func() { _ = term.Restore(fd, shown) }() // a signal ends the read before it does so itself
	fmt.Fprint(tty, prompt)
	defer fmt.Fprintln(tty)
	return untilSignal(func() ([]byte, error) { return readHidden(fd) })
}

// untilSignal gives up a read at a signal, so that the terminal is restored before the process
// ends.
func untilSignal(read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := read()
		answers <- answer{line, err}
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	select {
	case got := <-answers:
		return got.line, got.err
	case <-stop:
		return nil, noAnswer()
	}
}

func noAnswer() error {
	return fault.New(fault.Interrupted, fault.WasInterrupted, "no answer was given")
}

// readHidden reads one line without showing it.
func readHidden(fd int) ([]byte, error) {
	line, err := term.ReadPassword(fd)
	switch {
	case err != nil:
		return nil, noAnswer()
	case len(line) > maxPassphrase:
		return nil, usage("a passphrase has at most %d bytes", maxPassphrase)
	}
	return line, nil
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
