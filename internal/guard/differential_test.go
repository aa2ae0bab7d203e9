package guard

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// referee is a repository in which git and a guard judge the same objects. Both know the two keys of the agent.
type referee struct {
	git      *gittest.Repo
	judge    *codeJudge
	pgp, ssh sign.Signer
	tree     string
	head     string
}

func newReferee(t testing.TB) *referee {
	t.Helper()
	gittest.Need(t, "git", "gpg", "ssh-keygen")
	env := gittest.Env(t)
	r := &referee{git: gittest.NewRepo(t, env)}
	gpg := func(args ...string) string {
		cmd := exec.Command("gpg", append([]string{"--batch", "--quiet", "--passphrase", ""}, args...)...)
		cmd.Env = env
		out, err := cmd.Output()
		require.NoError(t, err, "%v", args)
		return string(out)
	}
	gpg("--quick-gen-key", "agent@example.com", "ed25519", "sign")
	r.pgp = opened(t, gpg("--armor", "--export-secret-keys"))
	r.ssh = enginetest.NewKey(t)
	allowed := filepath.Join(t.TempDir(), "allowed")
	require.NoError(t, os.WriteFile(allowed, []byte("agent "+r.ssh.Public().Text()), 0o600))
	r.git.Git(t, "config", "gpg.ssh.allowedSignersFile", allowed)
	r.head = r.git.Commit(t, "a", "a\n", "one")
	r.tree = strings.TrimSpace(r.git.Git(t, "rev-parse", "HEAD^{tree}"))

	var pinned []sign.TrustEntry
	for _, s := range []sign.Signer{r.pgp, r.ssh} {
		pinned = append(pinned, enginetest.Entry(s, "fixer", sign.RoleSender))
	}
	trust, err := enginetest.NewTrust(pinned...)
	require.NoError(t, err)
	repo := enginetest.Open(t, r.git)
	r.judge = &codeJudge{Guard: &Guard{Verifier: lifecycle.New(lifecycle.Setup{Repo: repo, Trust: trust, Now: time.Now}).Verifier}}
	r.judge.agents = trust.ClaimedSigners(isAgent)
	return r
}

func opened(t testing.TB, private string) sign.Signer {
	t.Helper()
	s, err := sign.OpenSigner(t.Context(), sign.Options{Env: private})
	require.NoError(t, err)
	return s
}

// crafted is an object that the test made by hand.
type crafted struct {
	name, kind string
	body       []byte
}

// signature signs the payload that git should consider signed.
func (r *referee) signature(t testing.TB, s sign.Signer, payload []byte) []byte {
	t.Helper()
	armored, err := s.Sign(t.Context(), sign.NamespaceGit, payload)
	require.NoError(t, err)
	return armored
}

// good returns the objects of a kind for which git itself reports a good signature. It checks many with one git.
// git stops at the first object that it cannot read, and good then checks each half.
func (r *referee) good(t testing.TB, kind string, oids []string) map[string]bool {
	t.Helper()
	good := map[string]bool{}
	if len(oids) == 0 {
		return good
	}
	args := []string{"log", "--no-walk=unsorted", "--format=%H %G?"}
	if kind == "tag" {
		args = []string{"verify-tag", "--format=%(objectname) G"}
	}
	if len(oids) == 1 {
		_, _, code := r.git.TryGit("verify-"+kind, oids[0])
		return map[string]bool{oids[0]: code == 0}
	}
	stdout, _, code := r.git.TryGit(append(args, oids...)...)
	if code != 0 {
		half := len(oids) / 2
		for _, part := range [][]string{oids[:half], oids[half:]} {
			maps.Copy(good, r.good(t, kind, part))
		}
		return good
	}
	for line := range strings.Lines(stdout) {
		oid, grade, _ := strings.Cut(strings.TrimSpace(line), " ")
		if grade == "G" || grade == "U" {
			good[oid] = true
		}
	}
	return good
}

// compare checks each object with git and the guard, and returns how many git considers signed.
func (r *referee) compare(t testing.TB, objects []crafted) int {
	t.Helper()
	byKind := map[string][]string{}
	written := make([]*refs.Object, len(objects))
	for i, c := range objects {
		written[i] = refs.NewObject(gittest.Objects(), c.kind, c.body)
		byKind[c.kind] = append(byKind[c.kind], written[i].OID)
	}
	require.NoError(t, r.judge.Verifier.Repo.Store.Write(written...))
	good := map[string]bool{}
	for kind, oids := range byKind {
		slices.Sort(oids)
		maps.Copy(good, r.good(t, kind, slices.Compact(oids)))
	}
	for i, c := range objects {
		one, signed, err := r.judge.signed(t.Context(), written[i].OID)
		require.NoError(t, err, c.name)
		if good[written[i].OID] {
			assert.True(t, signed && (one.who.key != "" || one.err != nil),
				"%s %s is signed for git, and for the guard nobody signed it:\n%q", c.kind, c.name, c.body)
		}
	}
	n := 0
	for _, is := range good {
		if is {
			n++
		}
	}
	return n
}

// fold returns a header with a text of several lines.
func fold(header string, text []byte) []byte {
	return []byte(header + " " + strings.ReplaceAll(strings.TrimRight(string(text), "\n"), "\n", "\n ") + "\n")
}

func join(parts ...any) []byte {
	var all []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			all = append(all, p...)
		case []byte:
			all = append(all, p...)
		}
	}
	return all
}

func (r *referee) headers() (tree, parent, author, committer string) {
	return "tree " + r.tree + "\n", "parent " + r.head + "\n",
		"author a <a@x> 1795000000 +0000\n", "committer a <a@x> 1795000000 +0000\n"
}

// messages returns ways to end a commit, and extras returns lines that may be among its headers.
func messages() map[string]string {
	return map[string]string{
		"plain": "\nm\n", "no LF": "\nm", "empty": "\n", "none": "", "two LF": "\n\n", "CRLF": "\r\nm\r\n", "NUL": "\nm\x00x\n",
		gittest.SignatureHeader() + " in it": "\n" + gittest.SignatureHeader() + " x\n y\n", "space line": " \nm\n", "lone CR": "\r", "blank later": " \nm\n\nHandoff-Id: x\n",
	}
}

func (r *referee) extras() map[string]string {
	return map[string]string{
		"": "", "encoding": "encoding latin1\n", "x": "x-y z\n", "HG": "HG:extra foo\n", "folded": "x a\n  b\n", "tab": "x\ty\n", "space": " \n", "nul": "x \x00\n",
		"mergetag": "mergetag object " + r.head + "\n type commit\n tag x\n tagger a <a@x> 1 +0000\n \n m\n",
		"other":    string(fold(otherHeader, []byte("-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"))),
		"unnamed":  "gpgsig\n", "empty gpgsig": "gpgsig-x \n y\n", "CR line": "\r\n", "none at all": "x\n",
	}
}

// otherHeader is the signature header of repositories with the other object format.
var otherHeader = map[gitobj.Format]gitobj.Format{gitobj.SHA1: gitobj.SHA256, gitobj.SHA256: gitobj.SHA1}[gittest.Objects()].SignatureHeader()

// commits returns commits with all combinations of messages, headers and places of the signature.
func (r *referee) commits(t *testing.T, s sign.Signer) []crafted {
	tree, parent, author, committer := r.headers()
	body := tree + parent + author + committer
	var all []crafted
	for mn, m := range messages() {
		for en, e := range r.extras() {
			sig := fold(gittest.SignatureHeader(), r.signature(t, s, join(body, e, m)))
			all = append(all, crafted{"message " + mn + ", header " + en + " before", "commit", join(body, e, sig, m)})
			if e == "" {
				continue
			}
			all = append(all, crafted{"message " + mn + ", header " + en + " after", "commit", join(body, sig, e, m)})
			if strings.HasPrefix(e, "gpgsig") {
				sig = fold(gittest.SignatureHeader(), r.signature(t, s, join(body, m)))
				all = append(all,
					crafted{"message " + mn + ", unsigned header " + en + " before", "commit", join(body, e, sig, m)},
					crafted{"message " + mn + ", unsigned header " + en + " after", "commit", join(body, sig, e, m)})
			}
		}
	}
	return all
}

// bentCommits returns commits with a signature in a form that git tolerates.
func (r *referee) bentCommits(t *testing.T, s sign.Signer) []crafted {
	tree, parent, author, committer := r.headers()
	body, end := tree+parent+author+committer, "\nm\n"
	armored := r.signature(t, s, join(body, end))
	sig, lines := fold(gittest.SignatureHeader(), armored), strings.Split(strings.TrimRight(string(armored), "\n"), "\n")
	all := map[string][]byte{
		"sig first": join(sig, body, end), "sig after tree": join(tree, sig, parent, author, committer, end),
		"sig after author": join(tree, parent, author, sig, committer, end),
		"split sig":        join(tree, parent, author, gittest.SignatureHeader()+" "+lines[0]+"\n", committer, gittest.SignatureHeader()+" "+strings.Join(lines[1:], "\n "), "\n", end),
		"each its own":     join(body, gittest.SignatureHeader()+" "+strings.Join(lines, "\n"+gittest.SignatureHeader()+" ")+"\n", end),
		"twice":            join(body, sig, sig, end), "blank before": join(body, gittest.SignatureHeader()+" \n "+strings.Join(lines, "\n ")+"\n", end),
		"trailing space": join(body, bytes.ReplaceAll(sig, []byte("SIGNATURE-----\n"), []byte("SIGNATURE----- \n")), end),
		"CR in armor":    join(body, fold(gittest.SignatureHeader(), bytes.ReplaceAll(armored, []byte("\n"), []byte("\r\n"))), end),
		"sig in message": join(body, end, armored), "upper case": join(body, strings.ToUpper(gittest.SignatureHeader()), sig[len(gittest.SignatureHeader()):], end),
		"comment":        join(body, fold(gittest.SignatureHeader(), bytes.Replace(armored, []byte("-----\n"), []byte("-----\nComment: x\n"), 1)), end),
		"as message":     join(body, fold(gittest.SignatureHeader(), bytes.ReplaceAll(armored, []byte("PGP SIGNATURE"), []byte("PGP MESSAGE"))), end),
		"x509 before":    join(body, gittest.SignatureHeader()+" -----BEGIN SIGNED MESSAGE-----\n", sig, end),
		"x509 after":     join(body, sig, gittest.SignatureHeader()+" -----BEGIN SIGNED MESSAGE-----\n", end),
		"the other one":  join(body, otherHeader, sig[len(gittest.SignatureHeader()):], end),
		"no blank in it": join(body, bytes.ReplaceAll(sig, []byte("\n \n"), []byte("\n  \n")), end),
	}
	var list []crafted
	for name, b := range all {
		list = append(list, crafted{name, "commit", b})
	}
	return list
}

// tags returns tags that end in their signature.
func (r *referee) tags(t *testing.T, s sign.Signer) []crafted {
	var all []crafted
	for _, tagger := range []string{"tagger a <a@x> 1795000000 +0000\n", ""} {
		head := "object " + r.head + "\ntype commit\ntag t\n" + tagger
		for mn, m := range map[string]string{
			"plain": "\nm\n", "empty": "\n", "none": "", "no LF": "\nm", "NUL": "\nm\x00\n", "CRLF": "\r\nm\r\n", "space": " \nm\n",
			"begin in it": "\n-----BEGIN PGP SIGNATURE-----\nx\n", "x509 in it": "\n-----BEGIN SIGNED MESSAGE-----\nx\n",
			"sha256": "gpgsig-sha256 x\n y\n\nm\n", "sha1": "gpgsig x\n y\n\nm\n",
		} {
			sig := r.signature(t, s, join(head, m))
			name := fmt.Sprintf("%s, tagger %t", mn, tagger != "")
			for how, b := range map[string][]byte{
				"": join(head, m, sig), "text after": join(head, m, sig, "by alice\n"), "twice": join(head, m, sig, sig),
				"as message":   join(head, m, bytes.ReplaceAll(sig, []byte("PGP SIGNATURE"), []byte("PGP MESSAGE"))),
				"x509 after":   join(head, m, sig, "-----BEGIN SIGNED MESSAGE-----\n"),
				"header":       join(head, fold(gittest.SignatureHeader(), sig), m),
				"CR":           join(head, m, bytes.ReplaceAll(sig, []byte("\n"), []byte("\r\n"))),
				"no end of it": join(head, m, bytes.TrimRight(sig, "\n")),
			} {
				all = append(all, crafted{name + " " + how, "tag", b})
			}
			if strings.HasPrefix(m, "gpgsig") {
				_, rest, _ := strings.Cut(m, "y\n")
				sig := r.signature(t, s, join(head, rest))
				all = append(all, crafted{name + ", unsigned header", "tag", join(head, m, sig)})
			}
		}
	}
	return all
}

// If git considers an object signed by an agent, so does the guard.
func TestSignedAsGitSees(t *testing.T) {
	t.Parallel()
	r := newReferee(t)
	n := 0
	for _, s := range []sign.Signer{r.pgp, r.ssh} {
		objects := slices.Concat(r.commits(t, s), r.bentCommits(t, s), r.tags(t, s))
		if s == r.ssh { // the variants around the signature were tested before, so every third is enough
			n := 0
			objects = slices.DeleteFunc(objects, func(crafted) bool { n++; return n%3 != 0 })
		}
		good := r.compare(t, objects)
		t.Logf("%d objects, %d good for git", len(objects), good)
		n += good
	}
	assert.Greater(t, n, 300, "few of them are signed at all, so that little was compared")
}

// This test compares git and the guard on random objects.
func TestSignedAsGitSeesAtRandom(t *testing.T) {
	t.Parallel()
	r := newReferee(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	var objects []crafted
	for i := range 80 {
		objects = append(objects, r.random(t, fmt.Sprint(i), func(n int) int { return dice.IntN(n) })...)
	}
	assert.Greater(t, r.compare(t, objects), 10, "few of them are signed at all")
}

// random makes an object of random pieces. It signs the object twice: over the payload that the guard finds, and
// over the pieces.
func (r *referee) random(t testing.TB, name string, pick func(int) int) []crafted {
	t.Helper()
	tree, parent, author, committer := r.headers()
	pieces := []string{
		"\n", "\r\n", " \n", " x\n", "x y\n", "\r", "\x00", "gpgsig\n", "gpgsig-sha256 x\n", "gpgsig-sha256 x\n y\n", "gpgsigx y\n z\n",
		"encoding latin1\n", "mergetag object x\n type commit\n", "m", "m\n", "\n\n", "-----BEGIN SIGNED MESSAGE-----\n", "\t\n", "HG:a b\n",
	}
	some := func(most int) string {
		var text strings.Builder
		for range pick(most + 1) {
			text.WriteString(pieces[pick(len(pieces))])
		}
		return text.String()
	}
	kind, head := "commit", []string{tree, parent, author, committer}
	if pick(4) == 0 {
		kind, head = "tag", []string{"object " + r.head + "\n", "type commit\n", "tag t\n", "tagger a <a@x> 1795000000 +0000\n"}
	}
	at := 1 + pick(len(head))
	before, after := strings.Join(head[:at], ""), strings.Join(head[at:], "")
	if pick(3) == 0 {
		before += some(2)
	}
	after += some(3)
	spell := func(payload []byte) []byte {
		sig := r.signature(t, r.ssh, payload)
		if kind == "tag" {
			return join(before, after, sig)
		}
		return join(before, fold(gittest.SignatureHeader(), sig), after)
	}
	naive := spell([]byte(before + after))
	all := []crafted{{name, kind, naive}}
	if s, ok := readSigned(gittest.Objects(), kind, naive); ok {
		all = append(all, crafted{name + " as read", kind, spell(s.payload)})
	}
	return all
}

// FuzzSignedAsGitSees lets the fuzzer choose the pieces.
func FuzzSignedAsGitSees(f *testing.F) {
	r := newReferee(f)
	f.Add([]byte{})
	f.Add([]byte{1, 3, 1, 1, 2, 1, 0})
	f.Fuzz(func(t *testing.T, choices []byte) {
		r.compare(t, r.random(t, "fuzzed", func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0])
			choices = choices[1:]
			return c % n
		}))
	})
}
