package hooks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// again makes a hook start itself a second time, as husky 6 does.
const again = `if [ -z "$AGAIN" ]; then export AGAIN=1; sh -e "$0" "$@"; exit; fi
echo "again $(basename "$0") [$*] $(cat)" >>"$RECORD"
`

// A kept hook that reads its own name gets the name by which git calls it, and it finds the files beside it.
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
		"starts itself again in a file that it reads": {
			"#!/bin/sh\n. \"$(dirname \"$0\")/again\"\nexit 3\n", "again pre-push.before-githandoff [a b c] in\n",
		},
		"is read by another program": {
			"#!/bin/sh\nsed -n 's/^# data: //p' \"$0\" >>\"$RECORD\"\nexit 3\n# data: of $0\n", "of $0\n",
		},
		"looks at its name, and reads itself": {
			"#!/bin/sh\necho \"${0##*/}\" >>\"$RECORD\"\nsed -n 's/^# data: //p' \"$0\" >>\"$RECORD\"\nexit 3\n# data: here\n",
			"pre-push.before-githandoff\nhere\n",
		},
		"follows its link": {
			"#!/bin/sh\ncase $(readlink -f \"$0\") in */there) echo \"${0##*/}\" >>\"$RECORD\" ;; esac\nexit 3\n", "pre-push.before-githandoff\n",
		},
		"names a directory after itself": {
			"#!/bin/sh\n# Runs what is in $0.d\ncat \"$0.d\"/* >>\"$RECORD\"\nexit 3\n", "in a directory\n",
		},
		"says its name": {
			"#!/bin/sh\ncase $0 in */pre-push) echo \"[$*]\" >>\"$RECORD\" ;; *) echo \"usage: $0\" >&2 ;; esac\nexit 3\n", "[a b c]\n",
		},
		"compares its name": {
			"#!/bin/bash\nif [ \"$0\" = \"${BASH_SOURCE[0]-$0}\" ]; then echo main >>\"$RECORD\"; fi\nexit 3\n", "main\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(tt.text, "bash") {
				gittest.Need(t, "bash")
			}
			r := newRepo(t)
			path := filepath.Join(r.hooksDir(), "pre-push")
			if write(t, path, tt.text, 0o755); strings.Contains(tt.text, "there") {
				there := filepath.Join(r.dir, "there")
				require.NoError(t, os.Rename(path, there))
				require.NoError(t, os.Symlink(there, path))
			}
			require.NoError(t, os.Mkdir(path+".d", 0o755))
			write(t, filepath.Join(path+".d", "one"), "in a directory\n", 0o644)
			write(t, filepath.Join(r.hooksDir(), "again"), again, 0o644)
			write(t, filepath.Join(r.hooksDir(), "beside"), "file\n", 0o644)
			r.install("pre-push")
			_, err := r.try(r.dir, "sh", "-c", `echo in | .git/hooks/pre-push a 'b c'`)
			assert.Error(t, err)
			assert.Regexp(t, "^"+strings.ReplaceAll(regexp.QuoteMeta(tt.want), `\*`, "[a-z]*")+"$", r.recorded())
		})
	}
}

// A kept hook that would see the name of its kept file is told apart from one that sees its own name.
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

// A hook that starts itself by its own name continues the same hook, so our part runs once. If a hook runs git,
// the hooks of that git have their own names, and our part runs for them too.
func TestHook_keptHookStartsMore(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		turns int
		want  string
	}{
		"itself": {"#!/bin/sh\n. \"$(dirname \"$0\")/again\"\n", 1, "again post-commit.before-githandoff"},
		"git": {
			"#!/bin/sh\nbasename \"$0\" >>\"$RECORD\"\n[ -n \"$AGAIN\" ] || AGAIN=1 git commit --quiet --allow-empty -m two\n", 2,
			"post-commit\npost-commit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			write(t, filepath.Join(r.hooksDir(), "post-commit"), tt.text, 0o755)
			write(t, filepath.Join(r.hooksDir(), "again"), strings.Replace(again, " [$*] $(cat)", "", 1), 0o644)
			write(t, filepath.Join(r.dir, ".handoff.json"), "{}", 0o644)
			r.install("post-commit")
			r.run(r.dir, "git", "commit", "--quiet", "--allow-empty", "-m", "one")
			got := r.recorded()
			assert.Equal(t, tt.turns, strings.Count(got, "githandoff [hook] [run] [post-commit]"), got)
			assert.Contains(t, got, tt.want+"\n")
		})
	}
}
