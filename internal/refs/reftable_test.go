package refs

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
)

// kept is a directory of tables in testdata/reftable, made by git 2.55: blocks of 256 bytes with an index of
// several levels, and later tables in which refs were made, moved and deleted. The file beside it has the output
// of "git for-each-ref".
type kept struct {
	dir    string
	format gitobj.Format
	refs   map[string]tableRef
}

func keptTables(t testing.TB) []kept {
	t.Helper()
	var all []kept
	for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
		k := kept{filepath.Join("testdata/reftable", string(format)), format, map[string]tableRef{}}
		list, err := os.ReadFile(k.dir + ".refs")
		require.NoError(t, err)
		for line := range strings.Lines(string(list)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
			ref := tableRef{name: f[1], oid: f[0]}
			if len(f) > 2 && f[2] != "" {
				ref = tableRef{name: f[1], target: f[2]}
			}
			k.refs[ref.name] = ref
		}
		k.refs["HEAD"] = tableRef{name: "HEAD", target: "refs/heads/main"}
		all = append(all, k)
	}
	return all
}

// Tables are read as git reads them.
func TestTables(t *testing.T) {
	for _, k := range keptTables(t) {
		stack, err := openTables(k.dir, k.format)
		require.NoError(t, err)
		defer stack.close()
		require.Len(t, stack, 8)
		require.NotZero(t, stack[7].index)
		for name, want := range k.refs {
			got, err := stack.find(name)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		for _, none := range []string{"", "A", "refs/handoffs/inbox/fixer/ho_100", "refs/handoffs/inbox/alone2", "refs/handoffs/inbox/fixer/ho_0071", "refs/zzz", "refs/handoffs/log"} {
			got, err := stack.find(none)
			require.NoError(t, err)
			assert.Empty(t, got.oid+got.target, none)
		}
		for _, prefix := range []string{"", "HEAD", "refs/", "refs/handoffs/inbox/alone", "refs/handoffs/inbox/fixer", "refs/handoffs/inbox/fixer/", "refs/handoffs/log/4", "refs/tags/", "refs/zzz/"} {
			want := maps.Clone(k.refs)
			maps.DeleteFunc(want, func(name string, _ tableRef) bool { return !strings.HasPrefix(name, prefix) })
			got := map[string]tableRef{}
			require.NoError(t, stack.below(prefix, func(ref tableRef) {
				require.NotContains(t, got, ref.name)
				got[ref.name] = ref
			}))
			assert.Equal(t, want, got, prefix)
		}
	}
}

// The tables of a repository give the same answers as its refs. A symbolic ref, a ref of a worktree, and a list
// with another wildcard are left to git.
func TestTablesOfARepository(t *testing.T) {
	k := keptTables(t)[0]
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "reftable"), os.DirFS(k.dir)))
	r := &Repo{GitDir: dir, CommonDir: dir, Format: k.format, Config: Config{"extensions.refstorage": {"reftable"}}}

	require.True(t, headInTables(r))
	assert.Equal(t, "main", r.Branch)
	assert.Equal(t, k.refs["refs/heads/main"].oid, r.Head)
	assert.True(t, HasHead(t.Context(), r, "HEAD"), "no file has that name here")
	assert.False(t, HasHead(t.Context(), r, "CHERRY_PICK_HEAD"))
	for name, want := range map[string]string{"refs/heads/side": k.refs["refs/heads/side"].oid, "refs/tags/v": k.refs["refs/tags/v"].oid, "refs/heads/none": ""} {
		oid, ok := r.tipInFiles(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, oid, name)
	}
	for _, name := range []string{"refs/remotes/origin/HEAD", "refs/worktree/x", "refs/heads/../x", "HEAD"} {
		_, ok := r.tipInFiles(name)
		assert.False(t, ok, name)
	}
	list, ok := listInFiles(r, []string{"refs/handoffs/inbox/alone", "refs/handoffs/inbox/*/ho_00*", "refs/handoffs/log/0"})
	require.True(t, ok)
	var names []string
	for _, ref := range list {
		names = append(names, strings.TrimPrefix(ref.Name, "refs/handoffs/inbox/"))
		assert.Equal(t, k.refs[ref.Name].oid, ref.OID)
	}
	want := []string{"alone"}
	for _, n := range "123456789" {
		want = append(want, "fixer/ho_00"+string(n))
	}
	assert.Equal(t, want, names)
	for _, pattern := range []string{"refs/remotes/", "refs/heads/m?in", "refs/bisect/x"} {
		_, ok := listInFiles(r, []string{pattern})
		assert.False(t, ok, pattern)
	}

	r.Format = gitobj.SHA256
	_, ok = r.tipInFiles("refs/heads/main")
	assert.False(t, ok, "the tables are of another format")
}

// If git removes a table after the list of tables was read, there is a new list.
func TestTablesMerged(t *testing.T) {
	k := keptTables(t)[0]
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(k.dir)))
	list := filepath.Join(dir, "tables.list")
	sound, err := os.ReadFile(list)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, []byte("gone.ref\n"), 0o600))
	_, err = openTables(dir, k.format)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.False(t, withTables(dir, k.format, func(tables) error { return nil }))

	require.NoError(t, os.WriteFile(list, sound, 0o600))
	looks := 0
	assert.True(t, withTables(dir, k.format, func(tables) error {
		if looks++; looks < 3 {
			return fs.ErrNotExist
		}
		return nil
	}))
	assert.Equal(t, 3, looks)
	assert.False(t, withTables(dir, k.format, func(tables) error { return errors.New("damaged") }))
	require.NoError(t, os.Remove(list))
	assert.False(t, withTables(dir, k.format, func(tables) error { return nil }))
}

// A file without the end of a table is refused, and so is a table of the other object format.
func TestTableIsWhole(t *testing.T) {
	for _, k := range keptTables(t) {
		names, err := filepath.Glob(filepath.Join(k.dir, "*-0x000000000008-*.ref"))
		require.NoError(t, err)
		require.Len(t, names, 1)
		body, err := os.ReadFile(names[0])
		require.NoError(t, err)
		refused := func(format gitobj.Format, body []byte) {
			t.Helper()
			path := filepath.Join(t.TempDir(), "table")
			require.NoError(t, os.WriteFile(path, body, 0o600))
			_, err := openTable(path, format)
			assert.ErrorIs(t, err, errTable)
		}
		refused(map[gitobj.Format]gitobj.Format{gitobj.SHA1: gitobj.SHA256, gitobj.SHA256: gitobj.SHA1}[k.format], body)
		refused(k.format, nil)
		refused(k.format, body[:len(body)-1])
		for at := range 3 {
			changed := slices.Clone(body)
			changed[[]int{0, len(body) - 10, len(body) - 1}[at]] ^= 1
			refused(k.format, changed)
		}
	}
}

// A file of any content is refused or read to its end.
func FuzzTable(f *testing.F) {
	for _, k := range keptTables(f) {
		names, err := filepath.Glob(filepath.Join(k.dir, "*.ref"))
		require.NoError(f, err)
		for _, name := range names {
			body, err := os.ReadFile(name)
			require.NoError(f, err)
			f.Add(body, 0, byte(0))
			for at := 0; at < len(body); at += 1 + len(body)/64 {
				f.Add(body, at, byte(0xff))
				f.Add(body[:at], 0, byte(0))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, at int, flip byte) {
		body = slices.Clone(body)
		if at >= 0 && at < len(body) {
			body[at] ^= flip
		}
		path := filepath.Join(t.TempDir(), "table")
		require.NoError(t, os.WriteFile(path, body, 0o600))
		for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
			table, err := openTable(path, format)
			if err != nil {
				continue
			}
			stack := tables{table}
			_ = stack.below("", func(tableRef) {})
			for _, name := range []string{"HEAD", "refs/handoffs/inbox/fixer/ho_125", "\xff"} {
				_, _ = stack.find(name)
			}
			stack.close()
		}
	})
}
