package guard_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

const teamRef = "refs/handoffs/trust"

// blob writes a blob.
func (h *fixture) blob(t *testing.T, text string) string {
	t.Helper()
	o := refs.NewObject(gittest.Objects(), "blob", []byte(text))
	require.NoError(t, h.repo.Store.Write(o))
	return o.OID
}

// commitOf writes a commit of a tree with some entries.
func (h *fixture) commitOf(t *testing.T, parent string, entries ...gitobj.TreeEntry) string {
	t.Helper()
	raw, err := gitobj.EncodeTree(entries)
	require.NoError(t, err)
	tree := refs.NewObject(gittest.Objects(), "tree", raw)
	commit := refs.OwnCommit(tree.OID, parent, "lists")
	require.NoError(t, h.repo.Store.Write(tree, commit))
	return commit.OID
}

// told returns the first refusal of a push as text; "" if there is none.
func told(t *testing.T, refused []guard.Refusal) string {
	t.Helper()
	if len(refused) == 0 {
		return ""
	}
	f := fault.As(refused[0].Err)
	return string(f.Reason) + ": " + f.Message
}

// Only a valid copy of the named key is accepted. If the hub has something else at that ref, the push may
// replace it.
func TestCheck_publishedKey(t *testing.T) {
	for _, prefix := range []string{"", "refs/heads/handoffs"} {
		h := newFixture(t)
		key, other := enginetest.NewKey(t).Public(), enginetest.NewKey(t).Public()
		ref := refs.At(prefix, refs.Root+"keys/"+sign.Hex(key.KID()))
		file := func(text, parent string) string {
			oid := h.blob(t, text)
			if prefix == "" {
				return oid
			}
			made := refs.Carrier(oid, parent)
			require.NoError(t, h.repo.Store.Write(made...))
			return made[len(made)-1].OID
		}
		push := func(was, now string) string {
			g := &guard.Guard{
				Home:     &lifecycle.LocalHome{Repo: h.repo, RepoID: homeID},
				Verifier: lifecycle.New(lifecycle.Setup{Repo: h.repo, Trust: h.Trust(t), Now: h.Now}).Verifier,
			}
			if prefix != "" {
				g.KeepBelow(prefix)
			}
			defer h.repo.Overlay(nil)
			refused, err := g.Check(t.Context(), []refs.Edit{{Ref: ref, Old: was, New: now}})
			require.NoError(t, err)
			return told(t, refused)
		}
		assert.Empty(t, push("", file(key.Text(), "")))
		assert.Contains(t, push("", file("no key\n", "")), "malformed_object: no key: ")
		assert.Contains(t, push("", file(other.Text(), "")), "untrusted_key: it holds another key, "+other.KID())
		for name, was := range map[string]string{
			"no key":       file("no key\n", ""),
			"another key":  file(other.Text(), ""),
			"no file":      h.commitOf(t, ""),
			"a large file": file(strings.Repeat("x", sign.MaxKey+1), ""),
		} {
			h.Hub.Git(t, "update-ref", ref, was)
			assert.Empty(t, push(was, file(key.Text(), was)), "%s%s", prefix, name)
		}
	}
}

// lists maps the files of a team's lists to their content.
type lists map[string]string

// by adds the list of a root and its signature under a file name.
func (l lists) by(t *testing.T, name string, e *lifecycle.Engine, raw []byte) lists {
	t.Helper()
	sig, err := e.Author.Signer.Sign(t.Context(), sign.NamespaceTrust, raw)
	require.NoError(t, err)
	more := maps.Clone(l)
	more[name], more[name+".sig"] = string(raw), string(sig)
	return more
}

func list(t *testing.T, e *lifecycle.Engine, home string, serial int64, keys ...sign.TrustEntry) []byte {
	t.Helper()
	raw, err := sign.NewTeam(home, serial-1, enginetest.Start(), e.Author.Signer.KID(), keys).Encode()
	require.NoError(t, err)
	return raw
}

// team writes a commit of lists, and of other entries beside them.
func (h *fixture) team(t *testing.T, parent string, l lists, beside ...gitobj.TreeEntry) string {
	t.Helper()
	entries := beside
	for name, text := range l {
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.File, Name: name, OID: h.blob(t, text)})
	}
	return h.commitOf(t, parent, entries...)
}

// A list is accepted if a root that the hub has pinned signed it for this hub, and if the commit has nothing
// else.
func TestCheck_team(t *testing.T) {
	h := newFixture(t)
	root := h.agent(t, "alice@example.com", sign.RoleRoot)
	boss, _ := h.pair(t)
	stranger := h.engine(t, "mallory@example.com")
	seen := func(oid string) gitobj.TreeEntry {
		return gitobj.TreeEntry{Mode: gitobj.Dir, Name: sign.SeenPrefix + oid, OID: oid}
	}
	retired := func(tree string) sign.TrustEntry {
		e := enginetest.Entry(boss.Author.Signer, "boss", sign.RoleSender)
		e.Retired, e.Seen = enginetest.Start().Format("2006-01-02T15:04:05Z"), map[string]string{"local": tree}
		return e
	}
	commit := h.commitOf(t, "", gitobj.TreeEntry{Mode: gitobj.File, Name: "a", OID: h.blob(t, "a")})
	code := h.Hub.Git(t, "rev-parse", commit+"^{tree}")
	tips := h.Hub.Git(t, "rev-parse", h.commitOf(t, "", gitobj.TreeEntry{Mode: gitobj.Gitlink, Name: "00", OID: commit})+"^{tree}")

	good := lists{}.by(t, "trust.json", root, list(t, root, homeID, 1))
	many, crowd := good, []gitobj.TreeEntry{}
	for i := range 32 {
		many = many.by(t, fmt.Sprintf("%040x.json", i), root, list(t, root, homeID, 1))
	}
	for i := range 1200 {
		crowd = append(crowd, seen(fmt.Sprintf("%0*x", gittest.Objects().Digits(), i+1)))
	}
	for name, tc := range map[string]struct {
		commit string
		told   string
	}{
		"a root":           {h.team(t, "", good), ""},
		"a stranger":       {h.team(t, "", lists{}.by(t, "trust.json", stranger, list(t, stranger, homeID, 1))), "untrusted_key: "},
		"a sender":         {h.team(t, "", lists{}.by(t, "trust.json", boss, list(t, boss, homeID, 1))), "untrusted_root: "},
		"a forged one":     {h.team(t, "", lists{}.by(t, "trust.json", boss, list(t, root, homeID, 1))), "signature_invalid: "},
		"no list":          {h.team(t, "", lists{}.by(t, "trust.json", root, []byte("{}"))), "malformed: "},
		"another hub":      {h.team(t, "", lists{}.by(t, "trust.json", root, list(t, root, "git+https://example.com/acme/other", 1))), "audience_mismatch: the list of keys is for "},
		"too many":         {h.team(t, "", many), "malformed_object: " + "%s holds too many lists of keys"},
		"too many entries": {h.team(t, "", good, crowd...), "malformed_object: " + "%s holds no lists of keys"},
		"tips":             {h.team(t, "", lists{}.by(t, "trust.json", root, list(t, root, homeID, 1, retired(tips))), seen(tips)), ""},
		"a tree of files":  {h.team(t, "", lists{}.by(t, "trust.json", root, list(t, root, homeID, 1, retired(code))), seen(code)), "malformed_object: " + code + " is not a tree of tips"},
		"a tree of no list": {
			h.team(t, "", lists{}.by(t, "trust.json", root, []byte("{}")), seen(tips)), "malformed_object: no list of keys names the tree " + tips,
		},
		"no commit": {h.blob(t, "x"), "malformed_object: %s is not a commit"},
	} {
		got := told(t, h.judge(t, h.Now(), []refs.Edit{{Ref: teamRef, New: tc.commit}}))
		if tc.told == "" {
			assert.Empty(t, got, name)
			continue
		}
		assert.True(t, strings.HasPrefix(got, strings.ReplaceAll(tc.told, "%s", tc.commit)), "%s: %q", name, got)
	}
}

// A list that the hub already has counts if it verifies here: a push must not drop or replace the valid list of
// another root. Anything else at the ref does not block a root.
func TestCheck_teamBefore(t *testing.T) {
	h := newFixture(t)
	root := h.agent(t, "alice@example.com", sign.RoleRoot)
	other, former := h.agent(t, "bob@example.com", sign.RoleRoot), h.engine(t, "carol@example.com")
	next := list(t, root, homeID, 3)
	file := func(e *lifecycle.Engine) string { return sign.TeamFile(e.Author.Signer.KID()) }
	elsewhere := list(t, other, "git+https://example.com/acme/other", 5)
	for name, tc := range map[string]struct {
		was  string
		with lists // other lists in the pushed commit
		told string
	}{
		"nothing of a team":    {h.commitOf(t, "", gitobj.TreeEntry{Mode: gitobj.File, Name: "README", OID: h.blob(t, "x")}), lists{}, ""},
		"a large file":         {h.commitOf(t, "", gitobj.TreeEntry{Mode: gitobj.File, Name: "x", OID: h.blob(t, strings.Repeat("x", 2<<20))}), lists{}, ""},
		"no commit":            {h.blob(t, "x"), lists{}, ""},
		"one to keep":          {h.team(t, "", lists{}.by(t, "trust.json", other, list(t, other, homeID, 2))), lists{}, "rollback: "},
		"one that is kept":     {h.team(t, "", lists{}.by(t, "trust.json", other, list(t, other, homeID, 2))), lists{}.by(t, file(other), other, list(t, other, homeID, 2)), ""},
		"a later one":          {h.team(t, "", lists{}.by(t, "trust.json", other, list(t, other, homeID, 4))), lists{}.by(t, file(other), other, list(t, other, homeID, 4)), "rollback: "},
		"of a former root":     {h.team(t, "", lists{}.by(t, "trust.json", former, list(t, former, homeID, 4))), lists{}, ""},
		"a former root's kept": {h.team(t, "", lists{}.by(t, "trust.json", former, list(t, former, homeID, 4))), lists{}.by(t, file(former), former, list(t, former, homeID, 4)), ""},
		"a former root's new":  {h.team(t, "", lists{}.by(t, "trust.json", former, list(t, former, homeID, 4))), lists{}.by(t, file(former), former, list(t, former, homeID, 5)), "untrusted_key: "},
		"of another hub":       {h.team(t, "", lists{}.by(t, "trust.json", other, elsewhere)), lists{}, ""},
		"another hub's kept":   {h.team(t, "", lists{}.by(t, "trust.json", other, elsewhere)), lists{}.by(t, file(other), other, elsewhere), "audience_mismatch: "},
	} {
		h.Hub.Git(t, "update-ref", teamRef, tc.was)
		parent := tc.was
		if name == "no commit" {
			parent = ""
		}
		push := []refs.Edit{{Ref: teamRef, Old: tc.was, New: h.team(t, parent, tc.with.by(t, "trust.json", root, next))}}
		if got := told(t, h.judge(t, h.Now(), push)); tc.told == "" {
			assert.Empty(t, got, name)
		} else {
			assert.True(t, strings.HasPrefix(got, tc.told), "%s: %q", name, got)
		}
	}
}
