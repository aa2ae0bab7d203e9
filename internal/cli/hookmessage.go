package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// prepareMessage names the claim under which a commit is made in its trailers,
// unless it has them: when it is amended, or picked. Arguments: the file with the
// message, and where that comes from. A message that is empty yet stays so: whoever
// leaves it empty wants no commit.
func (a *app) prepareMessage(ctx context.Context, repo *refs.Repo, args []string) error {
	if len(args) == 0 {
		return nil
	}
	h, err := a.actingUnder(repo)
	if err != nil || h == nil {
		return err
	}
	path := args[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.dir, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	if unwritten(string(text), repo.Config) {
		return nil
	}
	if !strings.HasSuffix(string(text), "\n") {
		// As merge -m leaves it: git would take the trailers for its last paragraph.
		if err := os.WriteFile(path, append(text, '\n'), 0o666); err != nil {
			return fmt.Errorf("end the message: %w", err)
		}
	}
	cmd := []string{"interpret-trailers", "--in-place", "--where", "end", "--if-exists", "doNothing", "--if-missing", "add"}
	cmd = append(cmd, "--trailer", "Handoff-Id: "+string(h.ID))
	if h.Token != "" {
		cmd = append(cmd, "--trailer", "Handoff-Token: "+h.Token)
	}
	if _, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: append(cmd, path)}); err != nil {
		return fmt.Errorf("add trailers to the message: %w", err)
	}
	return nil
}

// actingUnder is the claim that this agent works under in this worktree; nil where
// there is none, or where it cannot be said which.
func (a *app) actingUnder(repo *refs.Repo) (*lifecycle.Holder, error) {
	agent, err := a.identity(repo)
	if err != nil {
		return nil, nil // nobody works here, so nobody holds anything
	}
	held, err := lifecycle.Claims{Dir: repo.OwnWorktree("claims")}.All()
	if err != nil {
		return nil, err
	}
	held = slices.DeleteFunc(held, func(h *lifecycle.Holder) bool { return h.Actor != agent || !h.Printed })
	switch {
	case len(held) == 1:
		return held[0], nil
	case slices.ContainsFunc(held, func(h *lifecycle.Holder) bool { return h.Token != "" }):
		return nil, fault.New(fault.Policy, "ambiguous_id", "%s holds %d handoffs, so that this commit names none of them", agent, len(held))
	}
	return nil, nil
}

// unwritten reports whether a message holds nothing but blanks and comments.
func unwritten(text string, config refs.Config) bool {
	comment := config.Get("core.commentchar")
	if comment == "" || comment == "auto" {
		comment = "#"
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, comment+" ------------------------ >8 ------------------------") {
			return true // what follows is the diff
		}
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, comment) {
			return false
		}
	}
	return true
}
