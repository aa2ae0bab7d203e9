package audited

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// program is the name of the program in these tests.
const program = "githandoff v1"

// fixture is a home with one lane, and an engine that trusts nobody.
type fixture struct {
	*enginetest.Fixture
	engine *lifecycle.Engine
	home   *lifecycle.LocalHome
	lane   refs.Ref
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{Fixture: enginetest.NewLocal(t)}
	repo := enginetest.Open(t, s.Hub)
	s.engine = lifecycle.New(lifecycle.Setup{Repo: repo, Trust: s.Trust(t), Now: s.Now})
	s.home = &lifecycle.LocalHome{Repo: repo, RepoID: "local:000102030405060708090a0b0c0d0e0f"}
	s.lane = refs.Ref{Name: "refs/handoffs/log/00", OID: strings.Repeat("a", gittest.Objects().Digits())}
	return s
}

// learn records that the lane is sound.
func (s *fixture) learn(t *testing.T) *Memory {
	t.Helper()
	m := s.open(t, program)
	m.learn(s.lane, "refs:v", lifecycle.Lesson{
		Sound: true, Newest: s.Now(), Homes: map[string]bool{s.home.RepoID: true},
		Entries: []lifecycle.LearnedEntry{{OID: strings.Repeat("b", gittest.Objects().Digits())}, {OID: s.lane.OID, Signed: true}},
	})
	m.save("")
	require.FileExists(t, m.path)
	return m
}

func (s *fixture) open(t *testing.T, program string) *Memory {
	t.Helper()
	m, err := Open(s.engine, s.home, program)
	require.NoError(t, err)
	return m
}

// usable returns what is remembered of a lane, if that is enough for the visitor.
func usable(t *testing.T, m *Memory, lane refs.Ref, v Visitor) *known {
	t.Helper()
	m.reading = m.read(t.Context())
	defer m.reading.line.Close()
	return m.usable(lane, v)
}

func TestMemory(t *testing.T) {
	s := newFixture(t)
	s.learn(t)
	m := s.open(t, program)
	assert.True(t, m.Sound(s.lane, "v"))
	assert.Equal(t, s.lane.OID, m.sound(s.lane).entries[1].OID)
	signed := m.signed(s.lane.Name)
	assert.True(t, signed(s.lane.OID))
	assert.False(t, signed(strings.Repeat("b", gittest.Objects().Digits())), "its signature was not checked")
	assert.Nil(t, m.signed("refs/handoffs/log/01"))
}

// The memory of a lane counts for one tip of the lane and one state of its inbox refs.
func TestMemoryIsOfOneLane(t *testing.T) {
	s := newFixture(t)
	s.learn(t)
	m := s.open(t, program)
	moved := refs.Ref{Name: s.lane.Name, OID: strings.Repeat("c", gittest.Objects().Digits())}
	assert.False(t, m.Sound(moved, "v"), "the lane moved")
	assert.Nil(t, usable(t, m, moved, Visitor{}), "the lane moved")
	assert.False(t, m.Sound(refs.Ref{Name: "refs/handoffs/log/01", OID: s.lane.OID}, "v"), "another lane")
	assert.False(t, m.Sound(s.lane, "w"), "an inbox ref moved")
	assert.Nil(t, usable(t, m, s.lane, Visitor{View: func(refs.Ref) string { return "w" }}), "an inbox ref moved")
	assert.NotNil(t, usable(t, m, s.lane, Visitor{}), "the log alone is asked for")

	s.Set(s.Now().Add(-lifecycle.ClockSkew - time.Second))
	m = s.open(t, program)
	assert.False(t, m.Sound(s.lane, "v"), "by this clock an entry is too early")
	s.Set(s.Now().Add(time.Second))
	m = s.open(t, program)
	assert.True(t, m.Sound(s.lane, "v"))
	s.home.RepoID = "local:ff0102030405060708090a0b0c0d0e0f"
	assert.False(t, m.Sound(s.lane, "v"), "the home has another name")
}

// All refs are in order if they are the same as those of an audit without findings, and the lanes are still
// sound.
func TestUnchanged(t *testing.T) {
	s := newFixture(t)
	m := s.learn(t)
	lanes := []refs.Ref{s.lane}
	assert.False(t, s.open(t, program).Unchanged("", lanes), "nothing was in order")
	m.save("d1")
	m = s.open(t, program)
	assert.True(t, m.Unchanged("d1", lanes))
	assert.NotNil(t, usable(t, m, s.lane, Visitor{View: func(refs.Ref) string { panic("nobody asks") }}))
	assert.False(t, m.Unchanged("d2", lanes), "other refs")
	assert.False(t, m.Unchanged("d1", []refs.Ref{{Name: s.lane.Name, OID: strings.Repeat("c", gittest.Objects().Digits())}}), "the lane moved")
	assert.False(t, m.Unchanged("d1", append(lanes, refs.Ref{Name: "refs/handoffs/log/01", OID: s.lane.OID})), "another lane")
	assert.False(t, s.open(t, "githandoff v2").Unchanged("d1", lanes), "another program")
	now := s.Now()
	s.Set(now.Add(-lifecycle.ClockSkew - time.Second))
	assert.False(t, s.open(t, program).Unchanged("d1", lanes), "by this clock an entry is too early")
	s.Set(now)
	edit(t, m.path, func(text string) string { return strings.Replace(text, "clean d1", "clean d2", 1) })
	assert.False(t, s.open(t, program).Unchanged("d2", lanes), "somebody changed the file")

	m = s.open(t, program)
	m.learn(s.lane, Visitor{}.view(s.lane), lifecycle.Lesson{Sound: true, Newest: now, Entries: []lifecycle.LearnedEntry{{OID: s.lane.OID}}})
	m.save("d1")
	assert.False(t, s.open(t, program).Unchanged("d1", lanes), "the lane was judged without its inbox refs")
}

// A lane that was judged without its inbox refs is not sound for an audit that compares them.
func TestMemoryOfTheLogAlone(t *testing.T) {
	s := newFixture(t)
	m := s.open(t, program)
	m.learn(s.lane, Visitor{}.view(s.lane), lifecycle.Lesson{Sound: true, Newest: s.Now(), Entries: []lifecycle.LearnedEntry{{OID: s.lane.OID}}})
	m.save("")
	m = s.open(t, program)
	require.NotNil(t, usable(t, m, s.lane, Visitor{}))
	assert.Nil(t, usable(t, m, s.lane, Visitor{View: func(refs.Ref) string { return "" }}))
	assert.False(t, m.Sound(s.lane, ""))
	assert.False(t, m.Sound(s.lane, unseen))
}

// If anything else differs, nothing in the file counts, not even the signatures.
func TestMemoryIsVoid(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s *fixture, path string) string{
		"another program":    func(*testing.T, *fixture, string) string { return "githandoff v2" },
		"an unknown program": func(*testing.T, *fixture, string) string { return "" },
		"another trust": func(t *testing.T, s *fixture, _ string) string {
			key, err := sign.NewKeystore(func(name string) string {
				return map[string]string{"HOME": t.TempDir()}[name]
			}).Generate("a", "a", nil, time.Now(), rand.Reader)
			require.NoError(t, err)
			s.engine.Keys.Trust, err = enginetest.NewTrust(enginetest.Entry(key, "a", sign.RoleSender))
			require.NoError(t, err)
			return program
		},
		"another home": func(_ *testing.T, s *fixture, _ string) string {
			s.home.Paths = []string{s.home.RepoID} // the home still has its old id
			s.home.RepoID = "local:ff0102030405060708090a0b0c0d0e0f"
			return program
		},
		"a changed byte": func(t *testing.T, _ *fixture, path string) string {
			edit(t, path, func(text string) string { return strings.Replace(text, "-bb", "+bb", 1) })
			return program
		},
		"a file that was cut off": func(t *testing.T, _ *fixture, path string) string {
			edit(t, path, func(text string) string { return text[:strings.LastIndex(text, "sum ")] })
			return program
		},
		"a file that others may write": func(t *testing.T, _ *fixture, path string) string {
			require.NoError(t, os.Chmod(path, 0o666))
			return program
		},
		"a link": func(t *testing.T, _ *fixture, path string) string {
			require.NoError(t, os.Rename(path, path+".moved"))
			require.NoError(t, os.Symlink(path+".moved", path))
			return program
		},
		"no file": func(t *testing.T, _ *fixture, path string) string {
			require.NoError(t, os.Remove(path))
			return program
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			m := s.open(t, change(t, s, s.learn(t).path))
			assert.False(t, m.Sound(s.lane, "v"))
			assert.Nil(t, m.signed(s.lane.Name))
		})
	}
}

func edit(t *testing.T, path string, change func(string) string) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	after := change(string(b))
	require.NotEqual(t, string(b), after)
	require.NoError(t, os.WriteFile(path, []byte(after), 0o600))
}

// Only the signatures of a lane that is not sound are remembered.
func TestMemoryOfAMixedLane(t *testing.T) {
	s := newFixture(t)
	m := s.open(t, program)
	m.learn(s.lane, "refs:v", lifecycle.Lesson{Newest: s.Now(), Entries: []lifecycle.LearnedEntry{{OID: strings.Repeat("b", gittest.Objects().Digits())}, {OID: s.lane.OID, Signed: true}}})
	m.save("")
	m = s.open(t, program)
	assert.False(t, m.Sound(s.lane, "v"))
	assert.True(t, m.signed(s.lane.Name)(s.lane.OID))
	assert.False(t, m.signed(s.lane.Name)(strings.Repeat("b", gittest.Objects().Digits())))
}

// A file of any content is rejected, or has the lanes that it lists.
func FuzzMemory(f *testing.F) {
	const home = "local:000102030405060708090a0b0c0d0e0f"
	oid := strings.Repeat("a", gittest.Objects().Digits())
	lane := "lane " + oid + " sound 2026-11-20T22:00:00Z refs: 1 " + home + "\n"
	f.Add(lane + "+" + oid + "\n")
	f.Add(lane + "\n")
	f.Add("clean d\n")
	f.Add("")
	f.Add("lane x sound\n")
	f.Fuzz(func(t *testing.T, body string) {
		m := &Memory{context: "c", lanes: map[string]*known{}}
		text := schema + " c\n" + body
		m.parse(text + "sum " + digest(text) + "\n")
		for _, l := range m.lanes {
			assert.True(t, gitobj.IsID(l.tip))
			for _, e := range l.entries {
				assert.True(t, gitobj.IsID(e.OID))
			}
		}
		m.parse(body)
	})
}
