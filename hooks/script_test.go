package hooks

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRender(t *testing.T) {
	for _, name := range allNames() {
		for _, exe := range []string{"", "/usr/bin/githandoff", "/it's/a b/$(x)`y`\\"} {
			script := render(name, exe, "")
			assert.Equal(t, intact, originOf(script))
			assert.True(t, current(name, "", script))
			got, ok := exeOf(script)
			assert.True(t, ok)
			assert.Equal(t, exe, got)
		}
	}
}

func TestOriginOf(t *testing.T) {
	script := string(render("post-commit", "", ""))
	tests := []struct {
		name, data string
		want       origin
	}{
		{"ours", script, intact},
		{"empty", "", theirs},
		{"another script", "#!/bin/sh\necho hook\n", theirs},
		{"marker further down", "#!/bin/sh\n\n" + strings.TrimPrefix(script, shebang), theirs},
		{"line added", script + "\n", edited},
		{"cut off", script[:len(script)-1], edited},
		{"digest changed", strings.Replace(script, "sha256:", "sha256:0", 1), edited},
		{"version changed", strings.Replace(script, "hook 1 ", "hook 01 ", 1), edited},
		{"upper case", strings.Replace(script, "sha256", "SHA256", 1), edited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, originOf([]byte(tt.data))) })
	}
}

// A file counts as our script only in its exact form, and each rendered script is recognized.
func FuzzOriginOf(f *testing.F) {
	f.Add(render("post-commit", "/usr/bin/githandoff", ""), "/usr/bin/githandoff")
	f.Add(render("pre-receive", "", ""), "/it's")
	f.Add(encode(2, nil), "")
	f.Add([]byte("#!/bin/sh\n# githandoff hook 1 sha256:"), "/")
	f.Fuzz(func(t *testing.T, data []byte, exe string) {
		if originOf(data) == intact {
			line := markerLine().FindSubmatch(bytes.TrimPrefix(data, []byte(shebang)))
			require.NotNil(t, line)
			body := data[len(shebang)+len(line[0]):]
			assert.Equal(t, edited, originOf(append(bytes.Clone(data), '\n')))
			assert.Equal(t, intact, originOf(encode(9999, body)))
		}
		if checkExe(exe) == nil {
			got, ok := exeOf(render("pre-push", exe, ""))
			assert.True(t, ok)
			assert.Equal(t, exe, got)
		}
	})
}
