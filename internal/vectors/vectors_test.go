package vectors_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

var update = flag.Bool("update", false, "make testdata/vectors anew")

const dir = "../../testdata/vectors"

// stories is the content of stories.json.
type stories struct {
	Home     string            `json:"home"`
	Now      string            `json:"now"`
	Trust    []sign.TrustEntry `json:"trust"`
	Handoffs []answer          `json:"handoffs"`
}

// answer is the answer that a reader must give about one handoff.
type answer struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Entries []string `json:"entries"` // the verdict on each entry of the handoff
	Verify  string   `json:"verify"`
}

// Each story is written, and the reader must give its answer; -update stores the stories.
func TestStories(t *testing.T) {
	w := newWriter(t)
	var all stories
	all.Home, all.Now, all.Trust = homeID, handoff.FormatTime(now()), pinned(t)
	for _, list := range [][]story{lives(), lies(), forms(), entries()} {
		for _, s := range list {
			h := w.begin(s.name)
			s.tell(h)
			all.Handoffs = append(all.Handoffs, answer{s.name, string(h.id), strings.Fields(s.entries), s.verify})
		}
	}
	require.GreaterOrEqual(t, len(all.Handoffs), 60)
	readAll(t, w.git, &all)
	if *update {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		path, err := filepath.Abs(filepath.Join(dir, "stories.bundle"))
		require.NoError(t, err)
		w.git.Git(t, "-c", "pack.threads=1", "bundle", "create", "--quiet", path, "--all")
		save(t, "stories.json", all)
	}
}

// The stored stories are read as they must be.
func TestKeptStories(t *testing.T) {
	var all stories
	load(t, "stories.json", &all)
	require.GreaterOrEqual(t, len(all.Handoffs), 60)
	path, err := filepath.Abs(filepath.Join(dir, "stories.bundle"))
	require.NoError(t, err)
	git := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
	git.Git(t, "init", "--quiet", "--object-format=sha1") // the format of the bundle
	git.Git(t, "fetch", "--quiet", path, "refs/handoffs/*:refs/handoffs/*")
	readAll(t, git, &all)
}

// readAll requires that the reader gives each answer.
func readAll(t *testing.T, git *gittest.Repo, all *stories) {
	t.Helper()
	repo := enginetest.Open(t, git)
	trust, err := enginetest.NewTrust(all.Trust...)
	require.NoError(t, err)
	at, err := handoff.ParseTime(all.Now)
	require.NoError(t, err)
	e := lifecycle.New(lifecycle.Setup{Repo: repo, Trust: trust, Now: func() time.Time { return at }})
	home := &lifecycle.LocalHome{Repo: repo, RepoID: all.Home}
	for _, want := range all.Handoffs {
		t.Run(want.Name, func(t *testing.T) {
			got := answer{want.Name, want.ID, []string{}, ""}
			ref, agent := "", "fixer"
			for _, a := range []string{"fixer", "tester", handoff.Nobody} {
				name := refs.LocalNamespace.Inbox(a, handoff.ID(want.ID))
				if tip, err := repo.Resolve(t.Context(), name); err == nil && tip != "" {
					ref, agent = name, a
				}
			}
			lane := refs.LocalNamespace.Lane(handoff.ID(want.ID))
			tip, err := repo.Resolve(t.Context(), lane)
			require.NoError(t, err)
			err = e.Reader.Audit(t.Context(), home, refs.Ref{Name: lane, OID: tip}, lifecycle.LaneAudit{
				Entry: func(entry *lifecycle.Entry) error {
					if string(entry.Record().ID) == want.ID {
						got.Entries = append(got.Entries, word(entry.Dispute))
					}
					return nil
				},
				State: func(*lifecycle.State) error { return nil },
				Inbox: func(handoff.ID, string) string { return ref },
			})
			if want.Verify != "rollback" {
				require.NoError(t, err)
			}
			got.Verify = verify(t, e, home, lifecycle.Place{Agent: agent, ID: handoff.ID(want.ID)})
			assert.Equal(t, want, got)
		})
	}
}

// verify returns the result of "githandoff verify".
func verify(t *testing.T, e *lifecycle.Engine, home lifecycle.Home, p lifecycle.Place) string {
	t.Helper()
	s, err := e.Reader.Load(t.Context(), home, p)
	if err != nil {
		return word(err)
	}
	if s.Receipt != nil {
		return "ok " + string(s.Receipt.Event)
	}
	if _, err := e.Verifier.Verify(t.Context(), home, s, lifecycle.Options{AllowExpired: true}); err != nil {
		return word(err)
	}
	return "ok " + string(s.Phase())
}

func word(err error) string {
	switch f := fault.As(err); {
	case err == nil:
		return "ok"
	case f == nil:
		return err.Error()
	default:
		return string(f.Reason)
	}
}

func save(t *testing.T, name string, v any) {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(v))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644))
}

func load(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, v))
}
