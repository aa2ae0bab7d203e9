package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
)

const maxFiles = 2000 // files in one snapshot

// DefaultLimit is the limit of a snapshot if handoff.snapshotLimit sets no other one.
const DefaultLimit = 20 << 20

// LimitOf reads handoff.snapshotLimit: bytes, or with k, m or g behind them.
func LimitOf(repo *refs.Repo) (int64, error) {
	value := strings.ToLower(repo.Config.Get("handoff.snapshotlimit"))
	if value == "" {
		return DefaultLimit, nil
	}
	digits := strings.TrimRight(value, "kmg")
	shift := map[string]uint{"": 0, "k": 10, "m": 20, "g": 30}
	by, known := shift[value[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 0 || n > 1<<40>>by {
		return 0, fault.New(fault.Usage, fault.BadUsage, "handoff.snapshotLimit is %q: want a number of bytes, such as 20m", value).
			WithHints(fault.Run("git", "config", "--show-origin", "--get", "handoff.snapshotLimit").Because("shows which file sets it"))
	}
	return n << by, nil
}

func overLimit(format string, args ...any) *fault.Error {
	return fault.New(fault.Policy, fault.SnapshotLimit, "no snapshot: "+format, args...)
}

// fits refuses a snapshot of too many files, or of more bytes than the limit of the request.
func (q *Request) fits(files int, size int64) error {
	switch {
	case files > maxFiles:
		return overLimit("%d files, limit %d", files, maxFiles).
			WithHints(fault.Fact("ignored files do not travel; commit and push what is done"))
	case size > q.Limit:
		return overLimit("%d bytes that the home lacks, limit %d", size, q.Limit).
			WithHints(fault.Run("git", "config", "--get", "handoff.snapshotLimit").Because("shows the limit of this repository; without one it is %d MiB", DefaultLimit>>20))
	}
	return nil
}

// judge checks a snapshot against its limits and the content policy.
func (c *shot) judge(ctx context.Context, s *Snapshot, a *ahead) error {
	if err := c.req.fits(s.Work.Files, s.Work.Bytes); err != nil {
		return err
	}
	if err := c.screenMessages(ctx, a.commits); err != nil {
		return err
	}
	var all []delta
	for _, one := range c.changes {
		all = append(all, delta{path: one.path, before: one.head, after: one.stagedFile().oid},
			delta{path: one.path, before: one.head, after: c.read[one.path].oid})
	}
	for _, d := range a.changed {
		d.committed = true
		all = append(all, d)
	}
	atHome := map[string]bool{} // by id of the blob
	for _, d := range all {
		atHome[d.before] = !a.objects[d.before]
	}
	for _, d := range all {
		if err := c.screenDelta(ctx, d, c.req.Away && !atHome[d.after]); err != nil {
			return err
		}
	}
	return nil
}

// screenMessages refuses commits that travel along by a line of their messages.
func (c *shot) screenMessages(ctx context.Context, commits []string) error {
	for _, oid := range commits {
		o, err := c.repo.Read(ctx, oid, maxBlob)
		switch {
		case err != nil:
			return err
		case o == nil:
			continue // the push of the snapshot would fail
		}
		_, message, _ := bytes.Cut(o.Body, []byte("\n\n"))
		for line := range bytes.Lines(message) {
			if rule := screen.Secret(string(bytes.TrimRight(line, "\r\n"))); rule != "" {
				return fault.New(fault.Policy, fault.SecretFound, "no snapshot: the message of commit %s looks like a secret (rule %s)", oid[:12], rule).
					WithHints(fault.Run("git", "show", "--no-patch", oid).Because("shows the message, which travels as well: rewrite it, with git commit --amend or git rebase"))
			}
		}
	}
	return nil
}

// wasPushed reports whether a commit at the home has a blob, at whatever path and on whatever branch.
func (c *shot) wasPushed(ctx context.Context, blob string) bool {
	if c.req.Remote == "" {
		return false
	}
	out, err := git(ctx, c.repo, "", "log", "--remotes="+escapeGlob(c.req.Remote), "--find-object="+blob, "--max-count=1", "--format=%H", "--no-show-signature")
	return err == nil && out != ""
}

// screenDelta refuses a change by its names and lines, and a pointer of Git LFS that goes to a
// home without it: the content of the file would not follow.
func (c *shot) screenDelta(ctx context.Context, d delta, lacked bool) error {
	if d.after == "" || slices.Contains(c.req.Allow, d.path) {
		return nil
	}
	var bodies [2][]byte
	for i, oid := range []string{d.before, d.after} {
		o := c.blobs[oid]
		if o == nil && oid != "" {
			var err error
			if o, err = c.repo.Read(ctx, oid, maxBlob); err != nil && !fault.Is(err, fault.TooLarge) {
				return err
			}
		}
		if o != nil && o.Type == "blob" {
			bodies[i] = o.Body
		}
	}
	if lacked && isPointer(bodies[1]) && !c.isOnDisk(d.path, bodies[1]) && !c.wasPushed(ctx, d.after) {
		return onlyPointer(d.path)
	}
	err := c.screen(d.path, d.before == "", bodies[0], bodies[1])
	if f := fault.As(err); f != nil && d.committed {
		return f.WithHints(append([]fault.Hint{fault.Run("git", "log", "--oneline", "--no-patch", "--diff-merges=separate", "--find-object="+d.after).
			Because("lists the commits that brought it, and travel as well: rewrite them without it")}, f.Hints...)...)
	}
	return err
}

// screen refuses a file by its name, or by a line added to it.
func (c *shot) screen(path string, added bool, before, after []byte) error {
	overrule := fault.Run("githandoff", "help", "emit").Because("says what is refused; remove the file, or list it in .gitignore")
	if added && screen.KeyFile(path) {
		return fault.New(fault.Policy, fault.SecretFound, "no snapshot: %s has a name that is typical of files with keys and passwords", show(path)).WithHints(overrule)
	}
	if rule := screen.Secret(path); added && rule != "" {
		return fault.New(fault.Policy, fault.SecretFound, "no snapshot: the name of a new file looks like a secret (rule %s)", rule).
			WithHints(fault.Run("git", "status", "--short").Because("lists the new files"))
	}
	before, after = text(before), text(after)
	if bytes.IndexByte(after[:min(len(after), 8000)], 0) >= 0 {
		return nil // git considers the file binary
	}
	known := map[string]bool{}
	for line := range bytes.Lines(before) {
		known[string(bytes.TrimRight(line, "\r\n"))] = true
	}
	n := 0
	for line := range bytes.Lines(after) {
		n++
		words := string(bytes.TrimRight(line, "\r\n"))
		if known[words] {
			continue
		}
		if rule := screen.Secret(words); rule != "" {
			return fault.New(fault.Policy, fault.SecretFound, "no snapshot: %s:%d looks like a secret (rule %s)", show(path), n, rule).WithHints(overrule)
		}
	}
	return nil
}

// text converts a file that begins like UTF-16 to UTF-8, and returns any other file as it is.
func text(b []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	case !bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return b
	}
	units := make([]uint16, len(b)/2-1)
	_, _ = binary.Decode(b[2:], order, units) // cannot fail: b is long enough
	return []byte(string(utf16.Decode(units)))
}

const maxBlob = 256 << 20 // size of the largest blob examined, in bytes
