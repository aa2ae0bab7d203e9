package guard_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/refs"
)

var (
	zero = strings.Repeat("0", gittest.Objects().Digits())
	one  = strings.Repeat("1", gittest.Objects().Digits())
)

func TestReadEdits(t *testing.T) {
	edits, err := guard.ReadEdits(strings.NewReader(zero + " " + one + " refs/heads/a b\n" + one + " " + zero + " x\n"))
	require.NoError(t, err)
	assert.Equal(t, []refs.Edit{{Ref: "refs/heads/a b", New: one}, {Ref: "x", Old: one}}, edits)
	for _, bad := range []string{"\n", "a b c\n", zero + " " + one + "\n", zero + " " + one + " \n", zero + "  " + one + " x\n"} {
		_, err := guard.ReadEdits(strings.NewReader(bad))
		assert.Equal(t, fault.Usage, fault.CodeOf(err), "%q", bad)
	}
	_, err = guard.ReadEdits(strings.NewReader(strings.Repeat("x", 1<<20)))
	assert.Error(t, err, "a line without an end")
	edits, err = guard.ReadEdits(strings.NewReader(""))
	assert.NoError(t, err)
	assert.Empty(t, edits)
}

func TestReadPush(t *testing.T) {
	edits, err := guard.ReadPush(strings.NewReader(
		"HEAD " + one + " refs/heads/a " + zero + "\n" +
			"(delete) " + zero + " refs/heads/b " + one + "\n" +
			"x " + one + " refs/notes/handoffs " + zero + "\n" +
			"x " + one + " refs/handoffs/log/00 " + zero + "\n"))
	require.NoError(t, err)
	assert.Equal(t, []refs.Edit{{Ref: "refs/heads/a", New: one}, {Ref: "refs/heads/b", Old: one}}, edits)
	for _, bad := range []string{"a b c\n", "\n", "x " + one + "  " + zero + "\n", "x y refs/heads/a " + zero + "\n", "x " + one + " refs/heads/a y\n"} {
		_, err = guard.ReadPush(strings.NewReader(bad))
		assert.Equal(t, fault.Usage, fault.CodeOf(err), "%q", bad)
	}
}

// git prints the source of a refspec as the user wrote it.
func TestReadPushSourceWithSpaces(t *testing.T) {
	edits, err := guard.ReadPush(strings.NewReader("HEAD^{/one two} " + one + " refs/heads/a " + zero + "\n"))
	require.NoError(t, err)
	assert.Equal(t, []refs.Edit{{Ref: "refs/heads/a", New: one}}, edits)
}

// A push that is larger than the limit is refused, because its other refs would not be checked.
func TestReadTooMuch(t *testing.T) {
	name := "refs/heads/" + strings.Repeat("x", 60_000)
	endless := func(line string) io.Reader {
		readers := make([]io.Reader, 3000)
		for i := range readers {
			readers[i] = strings.NewReader(line)
		}
		return io.MultiReader(readers...)
	}
	_, err := guard.ReadEdits(endless(zero + " " + one + " " + name + "\n"))
	assert.True(t, fault.Is(err, fault.TooLarge), "%v", err)
	_, err = guard.ReadPush(endless("x " + one + " " + name + " " + zero + "\n"))
	assert.True(t, fault.Is(err, fault.TooLarge), "%v", err)
}

// Each line that is read becomes an edit with the same meaning.
func FuzzReadEdits(f *testing.F) {
	f.Add(zero + " " + one + " refs/heads/main\n")
	f.Add(one + " " + zero + " refs/handoffs/log/00")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, in string) {
		edits, err := guard.ReadEdits(strings.NewReader(in))
		if err != nil {
			return
		}
		var again strings.Builder
		for _, e := range edits {
			for _, oid := range []string{e.Old, e.New} {
				if oid == "" {
					oid = zero
				}
				again.WriteString(oid + " ")
			}
			again.WriteString(e.Ref + "\n")
		}
		want := strings.ReplaceAll(in, "\r\n", "\n")
		if want != "" && !strings.HasSuffix(want, "\n") {
			want = strings.TrimSuffix(want, "\r") + "\n"
		}
		assert.Equal(t, want, again.String())
	})
}
