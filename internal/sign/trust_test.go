package sign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

func loaded(t testing.TB, repo, user string) *Trust {
	t.Helper()
	trust, err := LoadTrust(repo, user)
	require.NoError(t, err)
	return trust
}

func written(t testing.TB, entries ...TrustEntry) string {
	t.Helper()
	b, err := EncodeEntries(entries)
	require.NoError(t, err)
	return writeFile(t, t.TempDir(), "trust.json", b)
}

func TestTrustFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "githandoff", "trust.json")
	trust := loaded(t, path, filepath.Join(dir, "none.json"))
	assert.Empty(t, trust.Entries())

	a, b := sshKey(t, "ed25519"), pgpKey(t, packet.Config{})
	require.NoError(t, trust.Add(path, entryOf(a)))
	require.NoError(t, trust.Add(path, entryOf(b)))
	for _, trust := range []*Trust{trust, loaded(t, path, ""), loaded(t, "", path)} {
		require.Len(t, trust.Entries(), 2)
		_, err := trust.Verify(NamespaceGit, []byte("x"), mustSign(t, a, NamespaceGit, "x"))
		assert.NoError(t, err)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, trust.Add(path, entryOf(a)))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "adding again changes nothing")
}

// If a key is added again, its rights may grow, but a limit that the new entry does not mention stays.
func TestAddWidens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	trust := loaded(t, path, "")
	s := sshKey(t, "ed25519")
	first := entryOf(s)
	first.MaxScope, first.Until, first.Comment = []string{"repo.write:src/*"}, "2027-01-01T00:00:00Z", "laptop"
	require.NoError(t, trust.Add(path, first))
	second := TrustEntry{KID: s.KID(), Key: s.Public().Text(), Agents: []string{"a"}, Roles: []string{RoleRoot}, Principals: []string{"user:alice@example.com"}}
	require.NoError(t, trust.Add(path, second))

	got := trust.Entries()[0]
	assert.Equal(t, []string{"a", "fixer"}, got.Agents)
	assert.Equal(t, []string{RoleRecipient, RoleRoot, RoleSender}, got.Roles)
	assert.Equal(t, first.MaxScope, got.MaxScope)
	assert.Equal(t, first.Until, got.Until)
	assert.Equal(t, "laptop", got.Comment)
	key, _ := trust.Lookup(s.KID())
	assert.True(t, key.SpeaksFor("user:alice@example.com"))
	assert.False(t, key.SpeaksFor("user:bob@example.com"))
	assert.Equal(t, [][]string{{"repo.write:src/*"}}, key.Limits())
}

// An entry has one list of names and one of roles, so adding both can grant more than was meant.
func TestMixes(t *testing.T) {
	ci := TrustEntry{Agents: []string{"ci"}, Roles: []string{RoleRecipient}, Until: "2026-12-01T00:00:00Z"}
	for name, tt := range map[string]struct {
		add  TrustEntry
		want bool
	}{
		"another name and role":     {TrustEntry{Agents: []string{"bot"}, Roles: []string{RoleSender}}, true},
		"another name, the same":    {TrustEntry{Agents: []string{"bot"}, Roles: []string{RoleRecipient}}, false},
		"another name, for longer":  {TrustEntry{Agents: []string{"bot"}, Roles: []string{RoleRecipient}, Until: "2027-06-01T00:00:00Z"}, true},
		"another name, not so long": {TrustEntry{Agents: []string{"bot"}, Roles: []string{RoleRecipient}, Until: "2026-11-30T00:00:00Z"}, true},
		"from another time":         {TrustEntry{Agents: []string{"bot"}, Roles: []string{RoleRecipient}, From: "2026-11-30T00:00:00Z"}, true},
		"another role":              {TrustEntry{Agents: []string{"ci"}, Roles: []string{RoleSender}}, false},
		"another role, for longer":  {TrustEntry{Agents: []string{"ci"}, Roles: []string{RoleSender}, Until: "2027-06-01T00:00:00Z"}, true},
		"all of it, for longer":     {TrustEntry{Agents: []string{"bot", "ci"}, Roles: []string{RoleRecipient, RoleSender}, Until: "2027-06-01T00:00:00Z"}, false},
		"a root":                    {TrustEntry{Roles: []string{RoleRoot}, Principals: []string{"user:a@example.com"}}, false},
		"a role under no name":      {TrustEntry{Roles: []string{RoleRoot, RoleSender}}, true},
		"nothing":                   {TrustEntry{}, false},
	} {
		assert.Equal(t, tt.want, tt.add.Mixes(ci), name)
	}
}

func TestAddRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	trust := loaded(t, path, "")
	a, b := sshKey(t, "ed25519"), sshKey(t, "ed25519")
	for name, edit := range map[string]func(*TrustEntry){
		"another key's name": func(e *TrustEntry) { e.KID = b.KID() },
		"unknown role":       func(e *TrustEntry) { e.Roles = []string{"admin"} },
		"no time":            func(e *TrustEntry) { e.From = "tomorrow" },
		"line break":         func(e *TrustEntry) { e.Agents = []string{"a\nb"} },
		"space":              func(e *TrustEntry) { e.Principals = []string{"a b"} },
		"quote":              func(e *TrustEntry) { e.Agents = []string{`a"b`} },
		"any agent":          func(e *TrustEntry) { e.Agents = []string{"*"} },
		"any principal":      func(e *TrustEntry) { e.Principals = []string{"user:*"} },
		"empty scope":        func(e *TrustEntry) { e.MaxScope = []string{""} },
		"no key":             func(e *TrustEntry) { e.Key = "" },
	} {
		e := entryOf(a)
		edit(&e)
		err := trust.Add(path, e)
		assert.True(t, fault.Is(err, "malformed"), "%s: %v", name, err)
	}
	assert.NoFileExists(t, path)
}

func TestRetire(t *testing.T) {
	dir := t.TempDir()
	repo, user := filepath.Join(dir, "repo.json"), filepath.Join(dir, "user.json")
	trust := loaded(t, repo, user)
	s := sshKey(t, "ed25519")
	refused(t, trust.Retire("", s.KID(), born(), nil), "no_key")
	require.NoError(t, trust.Add(repo, entryOf(s)))
	require.NoError(t, trust.Add(user, entryOf(s)))
	refused(t, trust.Retire(filepath.Join(dir, "other.json"), s.KID(), born(), nil), "no_key")

	require.NoError(t, trust.Retire("", s.KID(), born().Add(2*day), nil))
	require.NoError(t, trust.Retire(repo, s.KID(), born().Add(5*day), nil), "the earlier time stays")
	for _, path := range []string{repo, user} {
		assert.Equal(t, handoff.FormatTime(born().Add(2*day)), loaded(t, path, "").Entries()[0].Retired)
	}
	key, err := trust.Verify(NamespaceGit, []byte("x"), mustSign(t, s, NamespaceGit, "x"))
	require.NoError(t, err, "who signed is known for ever")
	require.NoError(t, key.MayAct(RoleSender, "fixer", born().Add(day)))
	refused(t, key.MayAct(RoleSender, "fixer", born().Add(2*day)), "key_revoked")
	refused(t, trust.Add(repo, entryOf(s)), "key_revoked")
}

// An older copy of a key, from before its revocation, does not replace the revoked copy.
func TestRevocationStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	trust := loaded(t, path, "")
	s := pgpKey(t, packet.Config{})
	revoked := pgpKeyFrom(t, s, func(e *openpgp.Entity) {
		require.NoError(t, e.RevokeKey(packet.KeyCompromised, "", &packet.Config{Time: later(day)}))
	})
	require.NoError(t, trust.Add(path, entryOf(s)))
	require.NoError(t, trust.Add(path, entryOf(revoked)), "the newer copy replaces the older one")
	key, _ := trust.Lookup(s.KID())
	refused(t, key.ValidAt(born()), "key_revoked")
	refused(t, trust.Add(path, entryOf(s)), "key_revoked")
}

func TestMayAct(t *testing.T) {
	s := sshKey(t, "ed25519")
	entry := func(roles ...string) TrustEntry {
		return TrustEntry{
			KID: s.KID(), Key: s.Public().Text(), Agents: []string{"fixer"}, Roles: roles,
			From: handoff.FormatTime(born()), Until: handoff.FormatTime(born().Add(10 * day)),
		}
	}
	for _, c := range []struct {
		roles       string
		role, agent string
		at          time.Duration
		reason      string
	}{
		{"sender", RoleSender, "fixer", day, ""},
		{"sender", RoleSender, "tester", day, "untrusted_key"},
		{"sender", RoleSender, "", day, "untrusted_key"},
		{"sender", RoleRecipient, "fixer", day, "untrusted_key"},
		{"sender", RoleRoot, "", day, "untrusted_key"},
		{"recipient", RoleRecipient, "fixer", day, ""},
		{"recipient", RoleSender, "fixer", day, "untrusted_key"},
		{"root", RoleRoot, "", day, ""},
		{"root", RoleSender, "anybody", day, ""},
		{"root", RoleRecipient, "fixer", day, "untrusted_key"},
		{"root,recipient", RoleRecipient, "tester", day, "untrusted_key"},
		{"", RoleSender, "fixer", day, "untrusted_key"},
		{"sender", "", "fixer", day, "untrusted_key"},
		{"sender", RoleSender, "fixer", -time.Second, "not_yet_valid"},
		{"sender", RoleSender, "fixer", 0, ""},
		{"sender", RoleSender, "fixer", 10 * day, "key_expired"},
		{"root", RoleRoot, "", 10 * day, "key_expired"},
	} {
		key, ok := trustIn(t, entry(strings.FieldsFunc(c.roles, func(r rune) bool { return r == ',' })...)).Lookup(s.KID())
		require.True(t, ok)
		err := key.MayAct(c.role, c.agent, born().Add(c.at))
		if c.reason == "" {
			assert.NoError(t, err, "%+v", c)
		} else {
			assert.True(t, fault.Is(err, fault.Reason(c.reason)), "%+v: %v", c, err)
		}
	}
	refused(t, Key{}.MayAct(RoleSender, "fixer", born()), "untrusted_key")
	refused(t, Key{}.ValidAt(born()), "untrusted_key")
	_, ok := trustIn(t).Lookup(s.KID())
	assert.False(t, ok)
}

func TestRepositoryNarrows(t *testing.T) {
	s, onlyUser, onlyRepo := sshKey(t, "ed25519"), sshKey(t, "ed25519"), sshKey(t, "ed25519")
	user := TrustEntry{
		KID: s.KID(), Key: s.Public().Text(), Agents: []string{"a", "b"}, Roles: []string{RoleSender, RoleRecipient},
		Principals: []string{"user:a", "user:b"}, MaxScope: []string{"repo.*"}, From: handoff.FormatTime(born()), Until: handoff.FormatTime(born().Add(9 * day)),
	}
	repo := TrustEntry{
		KID: s.KID(), Key: s.Public().Text(), Agents: []string{"b", "c"}, Roles: []string{RoleRecipient, RoleRoot},
		Principals: []string{"user:b", "user:c"}, MaxScope: []string{"repo.write:*"}, From: handoff.FormatTime(born().Add(day)),
		Until: handoff.FormatTime(born().Add(10 * day)), Retired: handoff.FormatTime(born().Add(5 * day)),
	}
	for _, c := range []struct{ first, second TrustEntry }{{user, repo}, {repo, user}} {
		trust := loaded(t, written(t, c.second, entryOf(onlyRepo)), written(t, c.first, entryOf(onlyUser)))
		require.Len(t, trust.Entries(), 3)
		key, _ := trust.Lookup(s.KID())
		got := key.Entry()
		assert.Equal(t, []string{"b"}, got.Agents)
		assert.Equal(t, []string{RoleRecipient}, got.Roles)
		assert.Equal(t, []string{"user:b"}, got.Principals)
		assert.Equal(t, handoff.FormatTime(born().Add(day)), got.From)
		assert.Equal(t, handoff.FormatTime(born().Add(9*day)), got.Until)
		assert.Equal(t, handoff.FormatTime(born().Add(5*day)), got.Retired)
		assert.ElementsMatch(t, [][]string{{"repo.*"}, {"repo.write:*"}}, key.Limits())
	}
}

// A revocation in either file counts.
func TestRepositoryKnowsMore(t *testing.T) {
	s := pgpKey(t, packet.Config{})
	revoked := pgpKeyFrom(t, s, func(e *openpgp.Entity) {
		require.NoError(t, e.RevokeKey(packet.KeySuperseded, "", &packet.Config{Time: later(3 * day)}))
	})
	armored := mustSign(t, s, NamespaceGit, "x")
	for _, c := range [][2]*pgpSigner{{s, revoked}, {revoked, s}} {
		trust := loaded(t, written(t, entryOf(c[0])), written(t, entryOf(c[1])))
		key, err := trust.Verify(NamespaceGit, []byte("x"), armored)
		require.NoError(t, err)
		require.NoError(t, key.ValidAt(born().Add(2*day)))
		refused(t, key.ValidAt(born().Add(4*day)), "key_revoked")
	}
}

func TestTrustIsStrict(t *testing.T) {
	s := sshKey(t, "ed25519")
	good, err := EncodeEntries([]TrustEntry{entryOf(s)})
	require.NoError(t, err)
	_, err = parseEntries(good)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"empty":          "",
		"null":           "null",
		"array":          "[]",
		"schema":         strings.Replace(string(good), trustSchema, "githandoff-trust/2", 1),
		"no schema":      `{"keys": []}`,
		"unknown member": strings.Replace(string(good), `"keys"`, `"more": 1, "keys"`, 1),
		"unknown in key": strings.Replace(string(good), `"agents"`, `"more": 1, "agents"`, 1),
		"doubled member": strings.Replace(string(good), `"agents"`, `"roles": ["root"], "agents"`, 1),
		"another case":   strings.Replace(string(good), `"roles"`, `"Roles"`, 1),
		"text after":     string(good) + "{}",
		"key twice":      strings.Replace(string(good), "[\n", "[\n"+strings.TrimSuffix(string(good[strings.Index(string(good), "    {"):strings.LastIndex(string(good), "\n  ]")]), "\n")+",\n", 1),
		"KID":            strings.Replace(string(good), s.KID(), "ssh:SHA256:x", 1),
		"role":           strings.Replace(string(good), RoleSender, "owner", 1),
		"bad time":       strings.Replace(string(good), `"agents"`, `"until": "2027-01-01", "agents"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, string(good), text)
			_, err := parseEntries([]byte(text))
			refused(t, err, "malformed")
		})
	}
	_, err = parseEntries(make([]byte, maxTrust+1))
	refused(t, err, "too_large")
}

// An entry whose key does not match its id is refused when it is used. The other entries still work.
func TestEntryWithAnotherKey(t *testing.T) {
	a, b := sshKey(t, "ed25519"), sshKey(t, "ed25519")
	wrong := entryOf(a)
	wrong.Key = b.Public().Text()
	trust := trustIn(t, wrong, entryOf(b))
	_, err := trust.Verify(NamespaceGit, []byte("x"), mustSign(t, a, NamespaceGit, "x"))
	refused(t, err, "malformed")
	key, _ := trust.Lookup(a.KID())
	refused(t, key.ValidAt(born()), "malformed")
	_, err = trust.Verify(NamespaceGit, []byte("x"), mustSign(t, b, NamespaceGit, "x"))
	assert.NoError(t, err)
}

func TestUnsafeTrust(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"writable by everybody": func(t *testing.T, path string) { require.NoError(t, os.Chmod(path, 0o622)) },
		"writable by others":    func(t *testing.T, path string) { require.NoError(t, os.Chmod(path, 0o602)) },
		"symbolic link": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+".real"))
			require.NoError(t, os.Symlink(path+".real", path))
		},
		"directory": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		},
		"pipe": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sshKey(t, "ed25519")
			path := written(t, entryOf(s))
			trust := loaded(t, path, "")
			spoil(t, path)
			_, err := LoadTrust(path, "")
			refused(t, err, "unsafe_file")
			refused(t, trust.Add(path, entryOf(sshKey(t, "ed25519"))), "unsafe_file")
		})
	}
	path := written(t, entryOf(sshKey(t, "ed25519")))
	require.NoError(t, os.Chmod(path, 0o644))
	_, err := LoadTrust(path, "")
	assert.NoError(t, err, "reading is no danger")
}

// Several worktrees of one clone run init at once and write the same file.
func TestAddAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "githandoff", "trust.json")
	const n = 16
	shared := sshKey(t, "ed25519")
	var wg sync.WaitGroup
	for i := range n {
		own := sshKey(t, "ed25519")
		wg.Go(func() {
			trust, err := LoadTrust(path, "")
			if !assert.NoError(t, err) {
				return
			}
			assert.NoError(t, trust.Add(path, entryOf(own)))
			e := entryOf(shared)
			e.Agents = []string{fmt.Sprintf("agent-%d", i)}
			assert.NoError(t, trust.Add(path, e))
		})
	}
	wg.Wait()
	trust := loaded(t, path, "")
	assert.Len(t, trust.Entries(), n+1)
	key, _ := trust.Lookup(shared.KID())
	assert.Len(t, key.Entry().Agents, n)
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, files, 2, "the file and its lock")
}

// The names in a commit must be names for which the signing key is pinned.
func TestCommitNamesItsKey(t *testing.T) {
	agent, person := sshKey(t, "ed25519"), sshKey(t, "ed25519")
	trust, err := newTrust(
		TrustEntry{KID: agent.KID(), Key: agent.Public().Text(), Agents: []string{"fixer", "helper"}, Roles: []string{RoleRecipient}},
		TrustEntry{KID: person.KID(), Key: person.Public().Text(), Principals: []string{"user:alice@example.com"}, Roles: []string{RoleRoot}})
	require.NoError(t, err)
	for _, tc := range []struct {
		by          KID
		actor, mail string
		ok          bool
	}{
		{agent.KID(), "fixer", "fixer@githandoff.invalid", true},
		{agent.KID(), "helper", "fixer@githandoff.invalid", true},
		{agent.KID(), "fixer", "ceo@example.com", false},
		{agent.KID(), "fixer", "alice@example.com", false},
		{agent.KID(), "fixer", "boss@githandoff.invalid", false},
		{agent.KID(), "boss", "fixer@githandoff.invalid", false},
		{agent.KID(), "alice@example.com", "fixer@githandoff.invalid", false},
		{person.KID(), "alice@example.com", "alice@example.com", true},
		{person.KID(), "fixer", "alice@example.com", false},
		{person.KID(), "alice@example.com", "bob@example.com", false},
	} {
		k, _ := trust.Lookup(tc.by)
		assert.Equal(t, tc.ok, k.Named(tc.actor, tc.mail) == nil, "%s <%s>", tc.actor, tc.mail)
	}
	k, _ := trust.Lookup(person.KID())
	assert.Equal(t, "alice@example.com", k.ActsAs("fixer"))
	k, _ = trust.Lookup(agent.KID())
	assert.Equal(t, "boss", k.ActsAs("boss"), "nobody becomes an agent by it")
}
