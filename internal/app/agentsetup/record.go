package agentsetup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
)

// record is setup.json: what setup wrote for this user, in all scopes.
type record struct {
	Schema string     `json:"schema"` // recordSchema
	Files  []*written `json:"files"`
}

const recordSchema = "githandoff-setup/1"

// written is one file written by setup.
type written struct {
	Client   string   `json:"client"`
	Path     string   `json:"path"`
	Root     string   `json:"root,omitempty"`     // work tree of the project; empty for this user's files
	Digest   string   `json:"digest"`             // digest of the whole file as setup wrote it
	Existed  bool     `json:"existed"`            // the file existed before setup wrote it first
	Own      bool     `json:"own"`                // setup wrote the whole file
	Inserted []string `json:"inserted,omitempty"` // texts inserted into a shared file, in this order
	Dirs     []string `json:"dirs,omitempty"`     // directories made for the file, innermost first
	With     []string `json:"with,omitempty"`     // extras of the client, asked for in the last run or before
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (r *Request) recordPath() string {
	return filepath.Join(r.StateHome, "githandoff", "setup.json")
}

func (r *Request) record() (*record, error) {
	path := r.recordPath()
	b, err := private.Read(path, private.Others, maxFile) // "setup --remove" deletes what the record names
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &record{Schema: recordSchema}, nil
	case fault.As(err) != nil:
		return nil, err
	case err != nil:
		return nil, fault.New(fault.Unavailable, fault.Unreadable, "%w", err)
	}
	rec := &record{}
	if err := json.Unmarshal(b, rec); err != nil || rec.Schema != recordSchema {
		f := fault.New(fault.Invalid, fault.Malformed, "%s does not hold a record of this version", path)
		if json.Valid(b) {
			f = f.WithHints(handoff.ErrUnknown.Hint)
		}
		return nil, f
	}
	return rec, nil
}

// lockPatience is the longest wait for another setup.
const lockPatience = 10 * time.Second

// lockedRecord returns the record, and keeps another setup from it until unlock is called: a file that is
// missing there would never be removed.
func lockedRecord(r *Request) (rec *record, unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	path := filepath.Join(filepath.Dir(r.recordPath()), "setup.lock")
	unlock, err = private.Lock(ctx, path)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, nil, fault.New(fault.Unavailable, fault.Busy, "another githandoff setup is running: it holds %s", path)
	case err != nil:
		return nil, nil, cannotWrite(err)
	}
	if rec, err = r.record(); err != nil {
		unlock()
	}
	return rec, unlock, err
}

func (r *Request) save(rec *record) error {
	path := r.recordPath()
	b, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return cannotWrite(err)
	}
	if err := durable.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return cannotWrite(err)
	}
	return nil
}

// find returns the record of the file at path, or nil.
func (rec *record) find(path string) *written {
	to, err := followed(path)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(rec.Files, func(w *written) bool { return w.Path == to })
	if i < 0 {
		return nil
	}
	return rec.Files[i]
}

// note records a written file. Whether it was there before the first run stays as it was noted.
func (rec *record) note(c *Change, made []string, project string) {
	w := rec.find(c.Path)
	if w == nil {
		w = &written{Client: c.Client, Path: c.Path, Root: project, Existed: c.existed, Own: c.own, Dirs: made}
		rec.Files = append(rec.Files, w)
	}
	w.Digest, w.Inserted, w.With = digest(c.after), c.inserted, c.with
}

// cutOut takes the insertions of setup out of a shared file; false if some of them were changed
// since.
func (w *written) cutOut(text []byte) ([]byte, bool) {
	if strings.HasSuffix(w.Path, ".json") {
		return cutOut(text, w.Inserted)
	}
	return cutText(text, w.Inserted) // a paragraph, or a table of TOML
}

// rest returns the insertions that are still in a shared file, as setup wrote them or changed by
// hand. It leaves out those that somebody took out: setup puts them back, and notes them again.
func (w *written) rest(text []byte, entries []entry) []string {
	return slices.DeleteFunc(slices.Clone(w.Inserted), func(s string) bool {
		return !bytes.Contains(text, []byte(s)) && !slices.ContainsFunc(entries, func(e entry) bool {
			there, err := e.in(text)
			return err == nil && there && strings.Contains(s, e.mark)
		})
	})
}

// clients lists the clients that are set up in the scope of a request, in the order of Clients.
func (rec *record) clients(r *Request) []string {
	return slices.DeleteFunc(Clients(), func(client string) bool {
		return !slices.ContainsFunc(rec.Files, func(w *written) bool { return w.Client == client && r.holds(w) })
	})
}

func (rec *record) forget(w *written) {
	rec.Files = slices.DeleteFunc(rec.Files, func(o *written) bool { return o == w })
}

// Wrote reports whether setup wrote a file, for any client and scope.
func (r *Request) Wrote(path string) bool {
	rec, err := r.record()
	return err == nil && rec.find(path) != nil
}
