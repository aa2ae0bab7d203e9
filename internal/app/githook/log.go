package githook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// commitFormat has git itself find the trailers: the last paragraph, by its own
// rules and the user's settings. Fields are ended by NUL, which no message holds.
const (
	commitFormat = "%H%x00%gs%x00%an <%ae>%x00%ae%x00%ce%x00%at%x00%ct%x00%B%x00%s%x00%b%x00%(trailers:only,unfold)"
	commitFields = 11
)

// logged is one entry of HEAD's reflog, with the commit that it led to.
type logged struct {
	oid, action             string
	author, mail, committer string // author is "Name <mail>"
	authored, committed     string // Unix seconds
	message                 string // the whole message
	subject, body, trailers string
}

// reflog reads the newest entries of HEAD's reflog, at most n.
func reflog(ctx context.Context, repo *refs.Repo, n int) ([]logged, error) {
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: append(
		repo.Config.TrailerColon(),
		"log", "-z", "--walk-reflogs", "-"+strconv.Itoa(n), "--no-show-signature", "--no-color", "--no-decorate", "--no-notes",
		"--encoding=UTF-8", "--format="+commitFormat, "HEAD", "--",
	)})
	if err != nil {
		return nil, fmt.Errorf("read the commit: %w", err)
	}
	var list []logged
	for f := strings.Split(string(out), "\x00"); len(f) >= commitFields; f = f[commitFields:] {
		list = append(list, logged{
			oid: f[0], action: f[1], author: f[2], mail: f[3], committer: f[4], authored: f[5], committed: f[6],
			message: f[7], subject: f[8], body: f[9], trailers: f[10],
		})
	}
	return list, nil
}

// made reports whether somebody just made the commit: it was neither amended, nor
// rebased, picked or merged.
func (l *logged) made() bool {
	return strings.HasPrefix(l.action, "commit:") || strings.HasPrefix(l.action, "commit (initial):")
}

func (l *logged) amended() bool { return strings.HasPrefix(l.action, "commit (amend):") }

// like reports whether two commits were made one after the other with the same
// author, message and second. One that took its message and its date from another
// commit ("commit -C") has a later committer date, and is that other one again.
func (l *logged) like(other *logged) bool {
	return l.made() && other.made() && l.author == other.author && l.message == other.message &&
		l.authored == other.authored && l.committed == l.authored && other.committed == other.authored
}

// own returns the commit at HEAD if it names a receiver and the user of this
// repository has just made it: the newest entry of HEAD's reflog says "commit", not
// amend, rebase, cherry-pick or merge, the user is its author and its committer, and the message is not
// that of another commit. A commit that was amended to name another receiver hands nothing over:
// it is returned as amended.
func own(ctx context.Context, repo *refs.Repo, identity []string) (c, amended *Commit, err error) {
	if repo.Head == "" {
		return nil, nil, nil
	}
	log, err := reflog(ctx, repo, 2)
	if err != nil {
		return nil, nil, err
	}
	if len(log) == 0 {
		return nil, nil, unlogged(ctx, repo)
	}
	c = readTrailers(log[0].trailers)
	if len(c.To) == 0 || log[0].oid != repo.Head {
		return nil, nil, nil
	}
	if err := c.read(&log[0]); err != nil {
		return nil, nil, err
	}
	if !log[0].made() && (!log[0].amended() || !c.isNew(log[1:])) {
		return nil, nil, nil
	}
	mail, err := user(ctx, repo, identity)
	if err != nil {
		return nil, nil, err
	}
	byUser := mail != "" && log[0].mail == mail && log[0].committer == mail
	if !log[0].made() {
		if byUser {
			return nil, c, nil
		}
		return nil, nil, nil
	}
	if !byUser {
		return nil, nil, fmt.Errorf("ignored the Handoff-To of this commit: its author and its committer are not both the user of this repository (%s)", mail)
	}
	_, err = os.Stat(repo.OwnWorktree(borrowedNote))
	if err == nil || strings.HasPrefix(log[0].subject, "amend! ") {
		return nil, nil, errors.New("ignored the Handoff-To of this commit: git took its message from another commit or from a template")
	}
	c.twin, err = countTwins(ctx, repo, log)
	return c, nil, err
}

// user returns the mail address of the user, as git would write it into a commit: of the variables in identity,
// or else of the settings. It is "" if git has no address to commit with. git sets the variables of the author
// for its hooks, also for an author other than the user, so those of the committer count.
func user(ctx context.Context, repo *refs.Repo, identity []string) (mail string, err error) {
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"var", "GIT_COMMITTER_IDENT"}, Env: identity})
	switch {
	case gitexec.ExitCode(err) == 128:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask git who commits here: %w", err)
	}
	_, mail, _ = strings.Cut(string(out), "<")
	mail, _, _ = strings.Cut(mail, ">")
	return mail, nil
}

// read fills in the commit from its entry in the log.
func (c *Commit) read(l *logged) error {
	seconds, err := strconv.ParseInt(l.authored, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	c.author, c.at, c.message, c.subject, c.body = l.author, time.Unix(seconds, 0), l.message, l.subject, withoutTrailers(l.body)
	return nil
}

// maxTwins is more commits than anybody makes in one second.
const maxTwins = 256

// countTwins counts the commits just before the newest one which equal it in everything an id
// derives from. Only if there is one, the log is read again.
func countTwins(ctx context.Context, repo *refs.Repo, log []logged) (int, error) {
	if len(log) < 2 || !log[0].like(&log[1]) {
		return 0, nil
	}
	log, err := reflog(ctx, repo, maxTwins)
	if err != nil {
		return 0, err
	}
	n := 0
	for n+1 < len(log) && log[0].like(&log[n+1]) {
		n++
	}
	return n, nil
}

// isNew reports whether a commit says something else than the one before it in the log.
func (c *Commit) isNew(before []logged) bool {
	if len(before) == 0 {
		return true
	}
	old := readTrailers(before[0].trailers)
	return old.read(&before[0]) != nil || !old.sameAs(c)
}

// sameAs reports whether two commits hand over the same work, in the same words.
func (c *Commit) sameAs(other *Commit) bool {
	return slices.Equal(c.To, other.To) && c.task == other.task && c.goal == other.goal && c.summary == other.summary &&
		c.Status == other.Status && c.subject == other.subject && c.body == other.body
}

// unlogged returns an error if a commit without a reflog names a receiver.
func unlogged(ctx context.Context, repo *refs.Repo) error {
	const limit = 1 << 20
	o, err := repo.Read(ctx, repo.Head, limit)
	if err == nil && o != nil && bytes.Contains(bytes.ToLower(o.Body), []byte("\nhandoff-to")) {
		return fmt.Errorf("ignored the Handoff-To of this commit: HEAD has no reflog (core.logAllRefUpdates)")
	}
	return err
}
