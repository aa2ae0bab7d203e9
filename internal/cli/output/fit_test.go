package output_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/cli/output"
)

func TestFit(t *testing.T) {
	const page = `Checks this repository, its settings and each hub,
and prints one line per check.

Usage:
  githandoff doctor [HUB…] [--fix] [--and-more-flags]

Flags:
      --fix         remove stale locks of a crashed git
  -m, --message M   say why

  one  a short one
  two  a longer one, which goes on in
       a second line, and a third
       one
`
	assert.Equal(t, page, output.Fit(page, 0), "no terminal")
	assert.Equal(t, page, output.Fit(page, 60), "all of it fits")
	assert.Equal(t, `Checks this repository, its settings and
each hub, and prints one line per check.

Usage:
  githandoff doctor [HUB…] [--fix] [--and-more-flags]

Flags:
      --fix         remove stale locks
                    of a crashed git
  -m, --message M   say why

  one  a short one
  two  a longer one, which goes on in
       a second line, and a third
       one
`, output.Fit(page, 40))
	assert.Contains(t, output.Fit(page, 30), `
  two  a longer one, which
       goes on in a second
       line, and a third one
`)
}

func TestHang(t *testing.T) {
	assert.Equal(t, "ok  äöü äöü äöü äöü äöü\n    äöü äöü", output.Hang("ok  ", "äöü äöü äöü äöü äöü äöü äöü", 24))
	assert.Equal(t, "ok  "+word+"\n    "+word, output.Hang("ok  ", word+" "+word, 24), "a word wider than the terminal")
	assert.Equal(t, "ok  世界 世界 世界 世界\n    世界", output.Hang("ok  ", "世界 世界 世界 世界 世界", 24), "wide characters")
	assert.Equal(t, "ok  /a  b is there", output.Hang("ok  ", "/a  b is there", 24), "a path with two blanks")
	assert.Equal(t, "ok  a b  c", output.Hang("ok  ", "a b  c", 0), "no terminal")
	assert.Equal(t, "a very long name  text text", output.Hang("a very long name  ", "text text", 24), "no room")
}

const word = "openpgp:e3b0c44298fc1c149afbf4c8996fb924"
