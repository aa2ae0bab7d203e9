package hooks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A hook that looks at its own name finds the one by which git calls it, and what is beside it.
func TestHook_keptHookHasItsName(t *testing.T) {
	const look = `echo "$(basename "$0") $(cat "$(dirname "$0")/beside") [$*] $- $(cat)" >>"$RECORD"` + "\nexit 3\n"
	for name, tt := range map[string]struct{ text, want string }{
		"sh":                {"#!/bin/sh\n" + look, "pre-push file [a b c] * in\n"},
		"with an option":    {"#!/bin/sh -f\n" + look, "pre-push file [a b c] *f* in\n"},
		"through env":       {"#!/usr/bin/env sh\n" + look, "pre-push file [a b c] * in\n"},
		"no last line feed": {"#!/bin/sh\necho ${0##*/} >>\"$RECORD\"\nexit 3", "pre-push\n"},
		"env with options":  {"#!/usr/bin/env -S sh -f\n" + look, "pre-push file [a b c] *f* in\n"},
		"starts itself again": {
			"#!/bin/sh\nif [ -z \"$AGAIN\" ]; then export AGAIN=1; exec sh \"$0\" \"$@\"; fi\necho again >>\"$RECORD\"\nexit 3\n", "again\n",
		},
		"compares its name": {
			"#!/bin/bash\nif [ \"$0\" = \"${BASH_SOURCE[0]-$0}\" ]; then echo main >>\"$RECORD\"; fi\nexit 3\n", "main\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat("/bin/bash"); err != nil && strings.Contains(tt.text, "bash") {
				t.Skip("bash is not installed")
			}
			r := newRepo(t)
			path := filepath.Join(r.hooksDir(), "pre-push")
			write(t, path, tt.text, 0o755)
			write(t, filepath.Join(r.hooksDir(), "beside"), "file\n", 0o644)
			r.install("pre-push")
			_, err := r.try(r.dir, "sh", "-c", `echo in | .git/hooks/pre-push a 'b c'`)
			assert.Error(t, err)
			assert.Regexp(t, "^"+strings.ReplaceAll(regexp.QuoteMeta(tt.want), `\*`, "[a-z]*")+"$", r.recorded())
		})
	}
}
