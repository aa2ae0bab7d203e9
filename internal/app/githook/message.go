package githook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Messages names the claim of a commit in its message.
type Messages struct {
	Repo     *refs.Repo
	Dir      string // directory from which relative paths start; "" for that of the process
	NoEditor bool   // git opens no editor: it was given the whole message
	Agent    string // agent of this worktree; "" for none
}

// A message is a commit message in git's file while the commit is made.
type message struct {
	path    string
	text    string
	comment string // prefix of comment lines; "" if git keeps every line
}

// open reads the message in the file of a hook's first argument, and its claim: nil without one.
func (h *Messages) open(ctx context.Context, args []string) (*message, *work.Claim, error) {
	if len(args) == 0 {
		return nil, nil, nil
	}
	claim, err := h.actingUnder()
	if err != nil || claim == nil {
		return nil, nil, err
	}
	path := h.at(args[0])
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the message: %w", err)
	}
	comment, err := h.comment(ctx, string(text))
	return &message{path, string(text), comment}, claim, err
}

// comment returns what a comment begins with in a message; "" if git keeps every line, as it does
// where nobody edits the message.
func (h *Messages) comment(ctx context.Context, text string) (string, error) {
	if h.NoEditor && h.Repo.Config.Get("commit.cleanup") != "strip" {
		return "", nil
	}
	comment := cmp.Or(h.Repo.Config.Get("core.commentchar"), "#")
	if long := h.Repo.Config.Get("core.commentstring"); long == "auto" {
		comment = long // git stripspace does not say what git commit chose
	} else if long != "" {
		// A git before 2.45 ignores it. A later one goes by the last of the two settings.
		out, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"stripspace", "--comment-lines"}, Stdin: strings.NewReader("\n")})
		if err != nil {
			return "", fmt.Errorf("find out how a comment begins: %w", err)
		}
		if strings.TrimSuffix(string(out), "\n") == long {
			comment = long
		}
	}
	if comment == "auto" {
		comment = chosen(text)
	}
	return comment, nil
}

// chosen returns what a comment begins with where git chose it: no line of the user begins so, and
// the comments come last.
func chosen(text string) string {
	comment := "#"
	for line := range strings.Lines(text) {
		if !strings.ContainsAny(line[:1], "#;@!$%^&|:") {
			continue
		}
		comment = line[:1]
		if strings.HasPrefix(line[1:], scissors) {
			break
		}
	}
	return comment
}

// scissors follows the beginning of a comment, above the diff of "git commit --verbose".
const scissors = " ------------------------ >8 ------------------------"

// Prepare adds trailers with the claim to a commit message, unless it has them: from an amended
// or picked commit. Arguments: the file with the message, and its origin. An empty message stays
// empty, and a template as it is: a user who leaves them so wants no commit. Finish handles those
// once they are written.
func (h *Messages) Prepare(ctx context.Context, args []string) error {
	if err := h.noteOrigin(args); err != nil {
		return err
	}
	m, claim, err := h.open(ctx, args)
	if err != nil || claim == nil {
		return err
	}
	template := h.Repo.OwnWorktree("template")
	if len(args) > 1 && args[1] == "template" {
		return os.WriteFile(template, []byte(m.text), 0o600)
	}
	if err := durable.Remove(template); err != nil {
		return err
	}
	if len(m.textLines()) == 0 {
		return nil
	}
	return m.name(ctx, h.Repo, claim)
}

// asksTo has, for each origin of a message that git did not get from the user, an expression for a
// trailer that hands work over. In a template it may have no value yet: the user fills it in.
var asksTo = map[string]string{
	"merge":    `(?im)^handoff-to\b`,
	"squash":   `(?im)^handoff-to\b`,
	"commit":   `(?im)^handoff-to\b`,
	"template": `(?im)^handoff-to[ \t]*[^\s\w-](\r?\n?[ \t])*[^\s]`, // any separator; a value may be folded
}

// borrowedNote is a file of the worktree. It is there from one prepare-commit-msg to the next if git
// took the message of the commit from another commit or from a template, together with a trailer that
// hands work over.
const borrowedNote = "borrowed-message"

// noteOrigin writes and removes borrowedNote. The origin of a message is "merge" after "cherry-pick
// -n" and after a conflict of a rebase, "squash" where that rebase squashes commits and where a "merge
// --squash" went before a "cherry-pick -n", "commit" after -c and -C, and "template" with
// commit.template, which often names a file of the repository: others write it. In HEAD's reflog such
// a commit looks like any other.
func (h *Messages) noteOrigin(args []string) error {
	note := h.Repo.OwnWorktree(borrowedNote)
	if len(args) > 1 && asksTo[args[1]] != "" {
		text, err := os.ReadFile(h.at(args[0]))
		if err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
		if regexp.MustCompile(asksTo[args[1]]).Match(text) {
			if err := private.MakeDir(filepath.Dir(note)); err != nil {
				return err
			}
			return os.WriteFile(note, nil, 0o600)
		}
	}
	return durable.Remove(note)
}

// at returns the absolute path of a file that git names.
func (h *Messages) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.Dir, path)
}

// Finish is like Prepare for a message written by the user. A message of only trailers is emptied,
// because git would take it for a message and commit.
func (h *Messages) Finish(ctx context.Context, args []string) error {
	m, claim, err := h.open(ctx, args)
	if fault.Is(err, fault.AmbiguousID) {
		return nil // Prepare has reported it
	}
	if err != nil || claim == nil {
		return err
	}
	kept, err := os.ReadFile(h.Repo.OwnWorktree("template"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	template := &message{text: string(kept), comment: m.comment}
	lines := m.textLines()
	if slices.Equal(lines, template.textLines()) {
		return nil
	}
	ours := trailers(claim)
	lines = slices.DeleteFunc(lines, func(line string) bool { return slices.Contains(ours, line) })
	if len(lines) == 0 {
		return m.drop(ours)
	}
	return m.name(ctx, h.Repo, claim)
}

// trailers returns the lines that name a claim.
func trailers(h *work.Claim) []string {
	lines := []string{"Handoff-Id: " + string(h.ID)}
	if h.Token != "" {
		lines = append(lines, "Handoff-Token: "+h.Token)
	}
	return lines
}

// name adds the trailers of a claim that the message lacks.
func (m *message) name(ctx context.Context, repo *refs.Repo, h *work.Claim) error {
	if !strings.HasSuffix(m.text, "\n") {
		// merge -m ends without a line feed: git would add the trailers to its last line.
		if err := m.write(m.text + "\n"); err != nil {
			return err
		}
	}
	// If git keeps comments, "#12" at the end would stay below the trailers otherwise. A line "---"
	// is one of the message: no patch follows it. A git that knows no longer comments ignores
	// commentString. No other setting of trailers counts: git would run commands for other trailers, and
	// could write ours under another name.
	comment, key := cmp.Or(m.comment, "\x01"), "core.commentChar"
	if len(comment) > 1 {
		key = "core.commentString"
	}
	cmd := append(
		repo.Config.TrailerColon(), "-c", key+"="+comment,
		"interpret-trailers", "--in-place", "--no-divider", "--where", "end", "--if-exists", "doNothing", "--if-missing", "add",
	)
	for _, line := range trailers(h) {
		cmd = append(cmd, "--trailer", line)
	}
	outside := []string{"GIT_DIR=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_PARAMETERS=", "GIT_CONFIG_COUNT=0"}
	if _, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: append(cmd, m.path), Env: outside}); err != nil {
		return fmt.Errorf("add trailers to the message: %w", err)
	}
	return nil
}

// drop takes lines out of the message.
func (m *message) drop(lines []string) error {
	var left strings.Builder
	for line := range strings.Lines(m.text) {
		if !slices.Contains(lines, strings.TrimRight(line, " \t\r\n")) {
			left.WriteString(line)
		}
	}
	if left.Len() == len(m.text) {
		return nil
	}
	return m.write(left.String())
}

func (m *message) write(text string) error {
	if err := os.WriteFile(m.path, []byte(text), 0o666); err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	return nil
}

// textLines returns the lines of text in a message: not blank, no comment, no sign-off, and no diff
// below the scissors.
func (m *message) textLines() []string {
	var lines []string
	for line := range strings.Lines(m.text) {
		line = strings.TrimRight(line, " \t\r\n")
		if m.comment != "" && strings.HasPrefix(line, m.comment) {
			if strings.HasPrefix(line, m.comment+scissors) {
				break
			}
			continue
		}
		if line != "" && !strings.HasPrefix(line, "Signed-off-by: ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// actingUnder returns the claim this agent works under in this worktree; nil if there is none, or
// more than one.
func (h *Messages) actingUnder() (*work.Claim, error) {
	if h.Agent == "" {
		return nil, nil // without an agent, nobody holds anything
	}
	held, err := work.ClaimsOf(h.Repo).Held()
	if err != nil {
		return nil, err
	}
	held = slices.DeleteFunc(held, func(claim *work.Claim) bool { return claim.Actor != h.Agent || !claim.Printed })
	switch {
	case len(held) == 1:
		return held[0], nil
	case slices.ContainsFunc(held, func(claim *work.Claim) bool { return claim.Token != "" }):
		return nil, fault.New(fault.Policy, fault.AmbiguousID, "%s holds %s, so this commit names none of them", h.Agent, fault.Count(len(held), "handoff"))
	}
	return nil, nil
}
