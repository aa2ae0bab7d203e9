package refs

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// git reads the stored and the compressed objects that are written, on both sides of the size limit.
func TestEncodeLoose_git(t *testing.T) {
	g := gittest.NewRepo(t, gittest.Env(t))
	repo, err := Open(t.Context(), &gitexec.Runner{Dir: g.Dir, Env: gitexec.Environ(g.Env)})
	require.NoError(t, err)
	defer repo.Close()
	for _, n := range []int{0, 1, block - 11, block - 10, block - 9, block, stored, 70_000} {
		o := NewObject(gittest.Objects(), "blob", []byte(strings.Repeat("0123456789abcde\n", n/16+1)[:n]))
		require.NoError(t, repo.Store.Write(o))
		out, _, code := g.TryGit("cat-file", "blob", o.OID)
		assert.Zero(t, code)
		assert.Equal(t, string(o.Body), out, "%d bytes", n)
	}
	id := bytes.Repeat([]byte{1}, gittest.Objects().Digits()/2)
	entry := len("100644 ") + 4 + 1 + len(id)
	for _, n := range []int{1, block / entry, stored/entry - 1, stored / entry, stored/entry + 1} {
		var body []byte
		for i := range n {
			body = append(fmt.Appendf(body, "100644 %04d\x00", i), id...)
		}
		o := NewObject(gittest.Objects(), "tree", body)
		require.NoError(t, repo.Store.Write(o))
		assert.Equal(t, fmt.Sprint(len(body)), g.Git(t, "cat-file", "-s", o.OID))
		assert.Equal(t, n, strings.Count(g.Git(t, "cat-file", "-p", o.OID)+"\n", "\n"), "%d entries", n)
		require.NoError(t, os.Remove(repo.Store.loosePath(o.OID))) // its entries do not exist, so git fsck would report it
	}
	assert.Empty(t, g.Git(t, "fsck", "--strict", "--no-dangling"))
}

func FuzzEncodeLoose(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte("x"), block-10))
	f.Add(bytes.Repeat([]byte("y"), block+1))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b bytes.Buffer
		require.NoError(t, encodeLoose(&b, &Object{Type: "blob", Body: body}))
		z, err := zlib.NewReader(&b)
		require.NoError(t, err)
		got, err := io.ReadAll(z)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("blob %d\x00%s", len(body), body), string(got))
		assert.Zero(t, b.Len())
	})
}
