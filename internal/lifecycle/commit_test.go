package lifecycle

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// git accepts the commits that the engine writes: fsck finds nothing, git reads the trailers, and the usual
// tools verify every signature.
func TestCommitsPleaseGit(t *testing.T) {
	gittest.Need(t, "gpg", "ssh-keygen")
	for _, kind := range []string{"openpgp", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			w := newFixture(t)
			sender, fixer := w.agent(t, "investigator"), w.agent(t, "fixer")
			if kind == "openpgp" {
				for i, e := range []*Engine{sender, fixer} {
					keys := sign.Keystore{Dir: filepath.Join(t.TempDir(), "keys"), Now: w.Now}
					s, err := keys.Generate(e.Author.Actor, e.Author.Actor+" <agent@example.com>", nil, w.Now().Add(-time.Hour), rand.Reader)
					require.NoError(t, err)
					e.Author.Signer = s
					w.Trusted[i].KID, w.Trusted[i].Key = s.KID(), s.Public().Text()
				}
				w.Spread(t)
			}
			p := w.offer(t, sender, "fixer")
			h := w.claim(t, fixer, p)
			_, err := fixer.Renew(t.Context(), w.home, h, Renewal{Data: `{"done":"half"}`})
			require.NoError(t, err)
			inbox := w.Hub.Git(t, "rev-parse", w.home.Namespace().Inbox("fixer", p.ID))
			_, _, err = fixer.Acknowledge(t.Context(), w.home, h, Outcome{Data: `{"pr":"#743"}`})
			require.NoError(t, err)
			w.Hub.Git(t, "update-ref", "refs/heads/kept", inbox)

			stdout, stderr, code := w.Hub.TryGit("fsck", "--strict", "--no-progress", "--no-dangling")
			assert.Zero(t, code)
			assert.Empty(t, stdout+stderr)

			dir := t.TempDir()
			require.NoError(t, fixer.Keys.Trust.Export(dir))
			w.Hub.Git(t, "config", "gpg.ssh.allowedSignersFile", filepath.Join(dir, "allowed_signers"))
			if kind == "openpgp" {
				gpg(t, w.Hub, "--import", filepath.Join(dir, "pubring.gpg"))
			}
			commits := strings.Fields(w.Hub.Git(t, "rev-list", "refs/heads/kept", w.lane(p.ID)))
			assert.Len(t, commits, 3+4)
			for _, oid := range commits {
				w.Hub.Git(t, "verify-commit", oid)
				raw := w.Hub.Git(t, "cat-file", "commit", oid) + "\n"
				c, err := record.ParseCommit([]byte(raw))
				require.NoError(t, err)
				assert.Equal(t, raw, string(c.Encode()))
				trailers := w.Hub.Git(t, "log", "-1", "--format=%(trailers:only,unfold)", oid)
				assert.Equal(t, strings.SplitN(string(c.Record.Message()), "\n\n", 2)[1], trailers)
			}
		})
	}
}

func gpg(t *testing.T, repo *gittest.Repo, args ...string) {
	t.Helper()
	repo.Git(t, append([]string{"-c", "alias.gpg=!gpg --batch --quiet", "gpg"}, args...)...)
}

func TestCommitRefusesWhatCannotBeRead(t *testing.T) {
	w := newFixture(t)
	e := w.agent(t, "investigator")
	env := w.envelope(t, "investigator", "fixer")
	_, err := e.Author.Prepare(t.Context(), w.home, env, "user:ä@example.com (declared)")
	assert.Equal(t, fault.Invalid, fault.CodeOf(err), err)

	e.Author.Random = broken{}
	_, err = e.Author.Prepare(t.Context(), w.home, env, "")
	assert.ErrorContains(t, err, "read a nonce")
}

// The same step with the same key in the same second makes a different commit.
func TestCommitsDiffer(t *testing.T) {
	w := newFixture(t)
	e := w.agent(t, "investigator")
	env := w.envelope(t, "investigator", "fixer")
	one, err := e.Author.Prepare(t.Context(), w.home, env, "")
	require.NoError(t, err)
	two, err := e.Author.Prepare(t.Context(), w.home, env, "")
	require.NoError(t, err)
	assert.NotEqual(t, one.Commit.OID, two.Commit.OID)
	assert.Equal(t, one.Objects[0].OID, two.Objects[0].OID, "the same envelope")
}

// After the receipt no ref leads to the payload, and gc removes it. The log stays.
func TestPayloadIsGoneAfterTheReceipt(t *testing.T) {
	w := newFixture(t)
	sender, fixer := w.agent(t, "investigator"), w.agent(t, "fixer")
	p := w.prepare(t, sender, "fixer")
	_, err := sender.Offer(t.Context(), w.home, p)
	require.NoError(t, err)
	h := w.claim(t, fixer, Place{Agent: "fixer", ID: p.Record.ID})
	_, _, err = fixer.Acknowledge(t.Context(), w.home, h, Outcome{})
	require.NoError(t, err)
	w.repo.Close()
	w.Hub.Git(t, "reflog", "expire", "--expire=now", "--all")
	w.Hub.Git(t, "gc", "--quiet", "--prune=now")
	for _, o := range p.Objects {
		_, _, code := w.Hub.TryGit("cat-file", "-e", o.OID)
		assert.NotZero(t, code, "%s is still there", o.Type)
	}
	assert.Equal(t, []string{"acknowledged", "claimed", "offered"}, events(t, w, p.Record.ID))
}

// events lists the events of the lane as git reads them, newest first.
func events(t *testing.T, w *fixture, id handoff.ID) []string {
	t.Helper()
	return strings.Fields(w.Hub.Git(t, "log", "--format=%(trailers:key=Handoff-Event,valueonly)", w.lane(id)))
}
