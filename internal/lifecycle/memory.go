package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/record"
)

// Memory lists the tokens that were used up in this clone, so that a hub that shows another
// log, or none, does not make it forget them. One line for each receipt,
// "<jti> <digest> <id>". The empty Memory remembers nothing.
type Memory struct {
	Path string // <common git dir>/githandoff/used
}

// The newest lines are kept, and no more than can be read faster than a hub can be asked.
// Tokens live 7 days at most.
const (
	maxMemory  = 8192 // lines
	keptMemory = maxMemory / 2
)

// unused refuses with replayed a token, or an envelope, whose handoff ended in
// this clone.
func (m Memory) unused(id handoff.ID, offer *record.Record) error {
	lines, err := m.lines()
	if err != nil {
		return err
	}
	for _, l := range lines {
		if jti, rest, _ := strings.Cut(l, " "); jti == offer.Token || strings.HasPrefix(rest, offer.Digest+" ") {
			return denied(fault.Replayed, "token %s of handoff %s was used up in this clone", offer.Token, id).
				WithHints(fault.Run("githandoff", "audit").Because("names the handoff; its home lost the receipt"))
		}
	}
	return nil
}

// note remembers the token of a handoff that ended. The log decides: a receipt stands also
// if this file cannot be written.
func (m Memory) note(s *State) {
	if m.Path == "" || s == nil || s.Receipt == nil || s.Offer == nil || s.Offer.Token == "" {
		return
	}
	unlock, err := private.Lock(context.Background(), m.Path+".lock") // which is held for one write
	if err != nil {
		return
	}
	defer unlock()
	line := fmt.Sprintf("%s %s %s\n", s.Offer.Token, s.Offer.Digest, s.ID)
	if lines, err := m.lines(); err == nil && len(lines) >= maxMemory {
		kept := strings.Join(lines[len(lines)-keptMemory:], "\n") + "\n"
		_ = private.WriteFile(m.Path, []byte(kept+line))
		return
	}
	f, err := os.OpenFile(m.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

func (m Memory) lines() ([]string, error) {
	if m.Path == "" {
		return nil, nil
	}
	b, err := private.ReadState(m.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the used tokens: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), nil
}
