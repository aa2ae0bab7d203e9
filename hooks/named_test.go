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

// One that sees the name of the kept file is told apart from those that see their own.
func TestInstall_misnamed(t *testing.T) {
	for text, want := range map[string]bool{
		"#!/bin/sh\necho \"$0\"\n":                             false,
		"#!/usr/bin/env bash\necho ${0##*/}\n":                 false,
		"#!/bin/bash\necho \"$BASH_SOURCE\"\n":                 true,
		"#!/bin/zsh\necho $0\n":                                true,
		"#!/usr/bin/env python3\nimport sys\nsys.argv[0]\n":    true,
		"#!/usr/bin/env python3\nimport sys\nsys.argv[1]\n":    false,
		"#!/usr/bin/env ruby\nexit File.basename($0) == 'x'\n": true,
		"#!/usr/bin/perl\nprint $ARGV[0], $01\n":               false,
		"\x7fELF argv[0]":                                      false,
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "hooks", "commit-msg"), text, 0o755)
		done, err := Install(filepath.Join(dir, "hooks"), []string{"commit-msg"}, "")
		assert.NoError(t, err)
		assert.Equal(t, want, done[0].Misnamed(), text)
	}
}
