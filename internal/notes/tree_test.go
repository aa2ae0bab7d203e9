package notes

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw renders entries as they are, in the order given.
func raw(entries ...entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		b.Write(encodeTree([]entry{e}))
	}
	return b.Bytes()
}

// git is the second opinion: it is silent about what is accepted, and
// complains about what is refused.
func TestParseTree(t *testing.T) {
	r := newRepo(t)
	blob, tree := r.put("blob", []byte("x")), r.put("tree", nil)
	file := func(name string) entry { return entry{modeFile, name, blob} }
	dir := func(name string) entry { return entry{modeTree, name, tree} }
	tests := map[string]struct {
		body []byte
		ok   bool
	}{
		"empty":               {nil, true},
		"five modes":          {raw(file("a"), entry{modeExec, "b", blob}, entry{modeSymlink, "c", blob}, dir("d"), entry{modeGitlink, "e", tree}), true},
		"tree after dash":     {raw(file("a-b"), dir("a"), file("a0")), true},
		"not UTF-8":           {raw(file("\xff\x01")), true},
		"spaces in a name":    {raw(file(" a b")), true},
		"tree before dash":    {raw(dir("a"), file("a-b")), false},
		"out of order":        {raw(file("b"), file("a")), false},
		"twice":               {raw(file("a"), file("a")), false},
		"file and tree":       {raw(file("a"), dir("a")), false},
		"file and tree apart": {raw(file("a"), file("a-b"), dir("a")), false},
		"padded mode":         {raw(entry{"040000", "a", tree}), false},
		"group-writable":      {raw(entry{"100664", "a", blob}), false},
		"no such mode":        {raw(entry{"100", "a", blob}), false},
		"empty name":          {raw(file("")), false},
		"slash":               {raw(file("a/b")), false},
		"dot":                 {raw(dir(".")), false},
		"dot dot":             {raw(dir("..")), false},
		"dot git":             {raw(dir(".gIt")), false},
		"null object":         {raw(entry{modeFile, "a", strings.Repeat("0", 40)}), false},
		"no mode":             {append([]byte("a\x00"), make([]byte, 20)...), false},
		"cut short":           {raw(file("a"))[:26], false},
		"no NUL":              {[]byte("100644 a"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			entries, err := parseTree(tt.body)
			oid, werr := r.try(string(tt.body), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
			require.NoError(t, werr, oid)
			oid = strings.TrimSpace(oid)
			// fsck of one object, without what it leads to.
			out, ferr := r.try("", "fsck", "--strict", "--no-dangling", "--no-progress", oid)
			complains := ferr != nil || strings.Contains(out, oid)
			if tt.ok {
				require.NoError(t, err)
				assert.Equal(t, string(tt.body), string(encodeTree(entries)))
				assert.False(t, complains, "git: %s", out)
			} else {
				assert.Error(t, err)
				assert.True(t, complains, "git finds nothing wrong")
			}
			if !tt.ok {
				require.NoError(t, r.remove(oid)) // the next fsck would meet it again
			}
		})
	}
}

func FuzzParseTree(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	f.Add([]byte(nil))
	f.Add(raw(entry{modeFile, "a-b", oid}, entry{modeTree, "a", oid}))
	f.Add(raw(entry{modeGitlink, "x", oid}, entry{modeSymlink, "y", oid}, entry{modeExec, "z", oid}))
	f.Add([]byte("100644 a\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := parseTree(body)
		if err != nil {
			return
		}
		if back := encodeTree(entries); !bytes.Equal(back, body) {
			t.Fatalf("%q comes back as %q", body, back)
		}
	})
}
