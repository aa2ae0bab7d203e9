package gitobj_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
)

var (
	blob = strings.Repeat("ab", 20)
	tree = strings.Repeat("cd", 20)
)

func file(name string) gitobj.TreeEntry {
	return gitobj.TreeEntry{Mode: gitobj.File, Name: name, OID: blob}
}

func dir(name string) gitobj.TreeEntry {
	return gitobj.TreeEntry{Mode: gitobj.Dir, Name: name, OID: tree}
}

// raw encodes entries unchecked, in the order given.
func raw(entries ...gitobj.TreeEntry) []byte {
	var body []byte
	for _, e := range entries {
		body = append(body, e.Mode+" "+e.Name+"\x00"...)
		body, _ = hex.AppendDecode(body, []byte(e.OID))
	}
	return body
}

// git fsck reports nothing about each tree that the parser accepts, and reports each one that it refuses.
func TestParseTree(t *testing.T) {
	for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
		t.Run(string(format), func(t *testing.T) { testParseTree(t, format) })
	}
}

func testParseTree(t *testing.T, format gitobj.Format) {
	repo := repository(t, format)
	blob, tree := strings.Repeat("ab", format.Digits()/2), strings.Repeat("cd", format.Digits()/2)
	file := func(name string) gitobj.TreeEntry { return gitobj.TreeEntry{Mode: gitobj.File, Name: name, OID: blob} }
	dir := func(name string) gitobj.TreeEntry { return gitobj.TreeEntry{Mode: gitobj.Dir, Name: name, OID: tree} }
	tests := map[string]struct {
		body []byte
		ok   bool
	}{
		"empty": {nil, true},
		"five modes": {raw(file("a"), gitobj.TreeEntry{Mode: gitobj.Exec, Name: "b", OID: blob}, gitobj.TreeEntry{Mode: gitobj.Symlink, Name: "c", OID: blob},
			dir("d"), gitobj.TreeEntry{Mode: gitobj.Gitlink, Name: "e", OID: tree}), true},
		"tree after dash":     {raw(file("a-b"), dir("a"), file("a0")), true},
		"not UTF-8":           {raw(file("\xff\x01")), true},
		"spaces in a name":    {raw(file(" a b")), true},
		"tree before dash":    {raw(dir("a"), file("a-b")), false},
		"out of order":        {raw(file("b"), file("a")), false},
		"twice":               {raw(file("a"), file("a")), false},
		"file and tree":       {raw(file("a"), dir("a")), false},
		"file and tree apart": {raw(file("a"), file("a-b"), dir("a")), false},
		"padded mode":         {raw(gitobj.TreeEntry{Mode: "040000", Name: "a", OID: tree}), false},
		"group-writable":      {raw(gitobj.TreeEntry{Mode: "100664", Name: "a", OID: blob}), false},
		"no such mode":        {raw(gitobj.TreeEntry{Mode: "100", Name: "a", OID: blob}), false},
		"empty name":          {raw(file("")), false},
		"slash":               {raw(file("a/b")), false},
		"dot":                 {raw(dir(".")), false},
		"dot dot":             {raw(dir("..")), false},
		"dot git":             {raw(dir(".gIt")), false},
		"null object":         {raw(gitobj.TreeEntry{Mode: gitobj.File, Name: "a", OID: format.Zero()}), false},
		"no mode":             {append([]byte("a\x00"), make([]byte, format.Digits()/2)...), false},
		"cut short":           {raw(file("a"))[:26], false},
		"no NUL":              {[]byte("100644 a"), false},
	}
	oldModes := map[string]bool{"group-writable": true, "no such mode": true} // old versions of fsck accept them
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tree")
			require.NoError(t, os.WriteFile(path, tt.body, 0o600))
			oid := repo.Git(t, "hash-object", "-w", "-t", "tree", "--literally", path)
			defer os.Remove(filepath.Join(repo.Dir, ".git", "objects", oid[:2], oid[2:])) // later runs of fsck would report it
			out, errs, _ := repo.TryGit("fsck", "--strict", "--no-dangling", "--no-progress", oid)
			complains := strings.Contains(out+errs, "in tree "+oid) || strings.Contains(errs, "object "+oid) || strings.Contains(errs, oid)

			entries, err := format.ParseTree(tt.body)
			if !tt.ok {
				assert.Error(t, err)
				assert.True(t, complains || oldModes[name] && !gittest.HasGit(t, "2.38"), "git finds nothing wrong: %s%s", out, errs)
				return
			}
			require.NoError(t, err)
			back, err := gitobj.EncodeTree(entries)
			require.NoError(t, err)
			assert.Equal(t, string(tt.body), string(back))
		})
	}
}

// The entries of a tree may be given in any order.
func TestEncodeTreeSorts(t *testing.T) {
	body, err := gitobj.EncodeTree([]gitobj.TreeEntry{file("a0"), dir("a"), file("a-b")})
	require.NoError(t, err)
	assert.Equal(t, raw(file("a-b"), dir("a"), file("a0")), body)
	for _, e := range []gitobj.TreeEntry{file(""), file("a/b"), file("a\x00"), {Mode: "0", Name: "a", OID: blob}, {Mode: gitobj.File, Name: "a", OID: "ab"}} {
		_, err := gitobj.EncodeTree([]gitobj.TreeEntry{e})
		assert.Error(t, err, "%q", e)
	}
}

// repository makes a repository with an object format.
func repository(t *testing.T, format gitobj.Format) *gittest.Repo {
	t.Helper()
	repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
	repo.Git(t, "init", "--quiet", "--object-format="+string(format))
	return repo
}

// readByGoGit reads a tree with SHA-1 ids with go-git, which is lenient.
func readByGoGit(body []byte) []gitobj.TreeEntry {
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.TreeObject)
	_, _ = o.Write(body)
	var tree object.Tree
	if tree.Decode(o) != nil {
		return nil
	}
	var entries []gitobj.TreeEntry
	for _, e := range tree.Entries {
		entries = append(entries, gitobj.TreeEntry{Mode: strings.TrimLeft(e.Mode.String(), "0"), Name: e.Name, OID: e.Hash.String()})
	}
	return entries
}

// git and this package give an object the same id.
func TestHash(t *testing.T) {
	for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
		repo := repository(t, format)
		file := filepath.Join(t.TempDir(), "object")
		require.NoError(t, os.WriteFile(file, []byte("one\n"), 0o600))
		assert.Equal(t, repo.Git(t, "hash-object", file), format.Hash("blob", []byte("one\n")))
		assert.Equal(t, repo.Git(t, "hash-object", "-t", "tree", "/dev/null"), format.EmptyTree())
		assert.Equal(t, format.EmptyTree(), format.Hash("tree", nil))
		assert.True(t, gitobj.IsEmptyTree(format.EmptyTree()))
		assert.Equal(t, format, gitobj.FormatOf(format.Zero()))
		assert.True(t, gitobj.IsID(format.Zero()))
		assert.False(t, gitobj.IsID(format.Zero()[1:]))
	}
}

// An id of one format is not read as one of the other.
func TestFormatsAreApart(t *testing.T) {
	long := strings.Repeat("ab", 32)
	_, err := gitobj.EncodeTree([]gitobj.TreeEntry{file("a"), {Mode: gitobj.File, Name: "b", OID: long}})
	assert.Error(t, err)
	body, err := gitobj.EncodeTree([]gitobj.TreeEntry{{Mode: gitobj.File, Name: "b", OID: long}})
	require.NoError(t, err)
	_, err = gitobj.SHA1.ParseTree(body)
	assert.Error(t, err)
	_, err = gitobj.SHA256.ParseTree(raw(file("a")))
	assert.Error(t, err)
	by := "author a <a@example.com> 1 +0000\ncommitter a <a@example.com> 1 +0000\n\nx\n"
	assert.Empty(t, gitobj.Parents([]byte("tree "+gitobj.SHA1.EmptyTree()+"\nparent "+long+"\n"+by)))
	assert.Equal(t, []string{long}, gitobj.Parents([]byte("tree "+gitobj.SHA256.EmptyTree()+"\nparent "+long+"\n"+by)))
	for _, oid := range []string{blob, long} {
		assert.Equal(t, []string{oid, oid}, gitobj.Parents([]byte("no tree\nparent "+oid+"\nparent "+oid+"\n\n")))
	}
	assert.Equal(t, []string{blob}, gitobj.Parents([]byte("no tree\nparent "+blob+"\nparent "+long+"\n\n")))
	assert.Empty(t, gitobj.Tree([]byte("tree "+long[1:]+"\n"+by)))
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(raw(file("a-b"), dir("a")))
	f.Add(raw(gitobj.TreeEntry{Mode: gitobj.Gitlink, Name: "x", OID: tree}, gitobj.TreeEntry{Mode: gitobj.Exec, Name: "z", OID: blob}))
	f.Add([]byte("100644 a\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = gitobj.SHA256.ParseTree(body)
		entries, err := gitobj.SHA1.ParseTree(body)
		if !assert.ObjectsAreEqual(readByGoGit(body), entries) && err == nil {
			t.Fatalf("%q: go-git reads %v, not %v", body, readByGoGit(body), entries)
		}
		if err != nil {
			return
		}
		if back, err := gitobj.EncodeTree(entries); err != nil || !bytes.Equal(back, body) {
			t.Fatalf("%q comes back as %q: %v", body, back, err)
		}
	})
}

// git and githandoff find the same parents in a commit, however it is written.
func TestParents(t *testing.T) {
	for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
		t.Run(string(format), func(t *testing.T) { testParents(t, repository(t, format)) })
	}
}

func testParents(t *testing.T, repo *gittest.Repo) {
	empty := repo.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	a, b := repo.Git(t, "commit-tree", "-m", "a", empty), repo.Git(t, "commit-tree", "-m", "b", empty)
	const by = " <a@example.com> 1 +0000\n"
	head, people := "tree "+empty+"\n", "author a"+by+"committer a"+by
	for name, one := range map[string]struct {
		raw  string
		want []string
	}{
		"none":                        {head + people + "\nx\n", nil},
		"two":                         {head + "parent " + a + "\nparent " + b + "\n" + people + "\nx\n", []string{a, b}},
		"capitals":                    {head + "parent " + strings.ToUpper(a) + "\n" + people + "\nx\n", []string{a}},
		"below the people":            {head + people + "parent " + a + "\n\nx\n", nil},
		"another below the people":    {head + "parent " + a + "\n" + people + "parent " + b + "\n\nx\n", []string{a}},
		"in the message":              {head + people + "\nparent " + a + "\n", nil},
		"in a message without people": {head + "\nparent " + a + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "commit")
			require.NoError(t, os.WriteFile(file, []byte(one.raw), 0o600))
			oid := repo.Git(t, "hash-object", "-t", "commit", "-w", "--literally", file)
			assert.Equal(t, one.want, gitobj.Parents([]byte(one.raw)))
			assert.Equal(t, strings.Join(append([]string{oid}, one.want...), " "), repo.Git(t, "rev-list", "--parents", "--max-count=1", oid))
		})
	}
}
