package crossrepo

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// errSilent is returned for a hub that did not answer.
func errSilent(h *remote) error {
	return fault.New(fault.Unavailable, fault.RemoteUnavailable, "%s did not answer within %s", h.Alias.Name, waited(h)).
		WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("asks it again, and sends what waits"))
}

// waited says for how long this command waited for an answer of a hub.
func waited(h *remote) string {
	within := gitexec.RemoteTimeout
	if s := h.silent.Load(); s != nil {
		within = s.within
	}
	if within < time.Minute {
		return fault.Count(int(within.Seconds()), "second")
	}
	return fault.Count(int(within.Minutes()), "minute")
}

// errNoAnswer is returned for a push that ran into its time limit, if the hub shows none of its
// refs. The push is not sent again, because the hub may still be at work on it.
func errNoAnswer(h *Hub) error {
	return fault.New(fault.Unavailable, fault.RemoteUnavailable, "%s did not answer the push within %s", h.Alias.Name, waited(&h.remote)).
		WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("checks whether the push arrived, and sends it again if not"))
}

func (h *remote) errUnreachable(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || fault.As(err) != nil {
		return err
	}
	if gitexec.TimedOut(err) && h.silent.Load() != nil {
		return errSilent(h)
	}
	// The fault may be in this clone, which could not store the answer.
	if full := refs.DiskFault(err); fault.Is(full, fault.DiskFull) {
		return full
	}
	if e, ok := errors.AsType[*gitexec.Error](err); ok {
		if lock, why := lockAmong(strings.Split(e.Stderr, "\n")); strings.HasPrefix(lock, h.Repo.CommonDir+"/") {
			if why == nil {
				return refs.Locked(lock)
			}
			if f := refs.DiskFault(&fs.PathError{Op: "make", Path: lock, Err: why}); fault.As(f) != nil {
				return f
			}
		}
	}
	if gitexec.Damaged(err, h.Repo.Objects) {
		return fault.New(fault.Unavailable, fault.MissingObject, "cannot read %s: the file of an object or of a ref in this clone is damaged", h.Alias.Name).
			WithHints(refs.BringsObjects())
	}
	if locks, lerr := h.Repo.Locks.List(time.Now()); lerr == nil {
		for _, l := range locks {
			if l.Age > time.Second {
				return refs.Locked(l.Path)
			}
		}
	}
	if werr := unix.Access(h.Repo.CommonDir, unix.W_OK); werr != nil {
		return refs.DiskFault(&fs.PathError{Op: "write to", Path: h.Repo.CommonDir, Err: werr})
	}
	said := GitSaid(err)
	if other := errFormat(h, said); other != nil {
		return other
	}
	f := fault.New(fault.Unavailable, fault.RemoteUnavailable, "cannot read %s (%s): %s", h.Alias.Name, h.Alias.URL, said).
		WithHints(h.Alias.readingHints(said)...)
	if gitexec.ExitCode(err) == 1 {
		f.Err = ErrReadInPart
	}
	return f
}

// errFormat returns the refusal of a hub that has another object format; nil if git says something
// else.
func errFormat(h *remote, said string) error {
	for _, words := range []string{
		"repository's object format", "repository's hash algorithm", "mismatched algorithms",
		"unexpected capabilities^{}", // git 2.39 with SHA-256 prints this for a SHA-1 hub without refs
	} {
		if strings.Contains(said, words) {
			return fault.New(fault.Unavailable, fault.ObjectFormat, "%s has another object format than this clone (%s): git transfers nothing between them", h.Alias.Name, h.Repo.Format).
				WithHints(fault.Fact("a new clone of %s has its format", h.Alias.Name))
		}
	}
	return nil
}

// ErrReadInPart is the cause of the error of a look at a hub that answered: git could not write
// some of the copies, and wrote the others.
var ErrReadInPart = errors.New("some copies could not be written")

// GitSaid returns the error output of a failed git without its warnings, escaped: parts of it came
// from the hub. Of a long one it returns the end, where git says why: a banner of ssh or the words of
// a credential helper stand before.
func GitSaid(err error) string {
	if err == nil {
		return "git names no reason"
	}
	e, ok := errors.AsType[*gitexec.Error](err)
	if !ok || e.Stderr == "" {
		return err.Error()
	}
	said := gitWords(e)
	if len(said) == 0 {
		return Quote(e.Stderr)
	}
	first := len(said) - 1
	for size := len(said[first]); first > 0; first-- {
		if size += len("; ") + len(said[first-1]); size > maxQuoted {
			said[first-1] = "…"
			return Quote(strings.Join(said[first-1:], "; "))
		}
	}
	return Quote(strings.Join(said, "; "))
}

// gitWords returns the lines of git's error output that have words of their own, up to the fatal
// one.
func gitWords(e *gitexec.Error) []string {
	var said []string
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		rest, final := strings.CutPrefix(line, "fatal: ")
		if !label(rest) && !strings.HasPrefix(rest, "warning: ") {
			said = append(said, rest)
		}
		if final && !strings.HasSuffix(rest, ":") { // after a colon, the next line says why
			break
		}
	}
	return said
}

// label reports whether a line has no words of its own. Gitea puts its words between two lines of
// "error:".
func label(line string) bool {
	return strings.Trim(strings.NewReplacer("remote:", "", "error:", "").Replace(line), " ") == ""
}

// lockAmong finds the lock that git could not take, and why it could not: nil if another process has
// it. In any language, the message has the path and, after a colon, the reason. For a lock that git took
// and could not write, no reason follows. git does not name the lock of reftables.
func lockAmong(lines []string) (path string, why error) {
	lockPattern := regexp.MustCompile(`'([^']+\.lock)'[^:：]*[:：]|(/.+/packed-refs\.new): `)
	for _, line := range lines {
		if m := lockPattern.FindStringSubmatch(line); m != nil {
			return filepath.Clean(m[1] + m[2]), unmade(line)
		}
		if strings.Contains(line, "cannot lock references") {
			return "reftable/tables.list.lock", nil
		}
	}
	return "", nil
}

// unmade returns the error that a line of git names for a lock that is not there; nil if it names none.
func unmade(line string) error {
	for _, no := range []unix.Errno{unix.EROFS, unix.EACCES, unix.EPERM, unix.ENOSPC, unix.EDQUOT, unix.EIO} {
		if strings.HasSuffix(strings.ToLower(line), ": "+no.Error()) {
			return no
		}
	}
	return nil
}
