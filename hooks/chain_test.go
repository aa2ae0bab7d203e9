package hooks

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// scene is one git command that starts one hook.
type scene struct {
	hook   string
	prove  func(r *repo)                 // prepares the repository, also so that the hook calls githandoff
	act    func(r *repo) (string, error) // runs the git command
	args   string                        // arguments of the hook as recorded
	input  []string                      // beginnings of the lines of standard input
	blocks bool                          // whether the hook can stop git
	status bool                          // whether git ends with the status of the hook
}

func scenes() []scene {
	return []scene{
		{
			hook: "post-commit",
			act: func(r *repo) (string, error) {
				return r.try(r.dir, "git", "commit", "-q", "--allow-empty", "-m", "x", "-m", "Handoff-To: a")
			},
		},
		{
			hook: "prepare-commit-msg", args: " [.git/COMMIT_EDITMSG] [message]", blocks: true, status: true,
			prove: func(r *repo) { write(r.t, r.gitPath(r.dir, "githandoff/claims/ho_1.json"), "{}", 0o600) },
			act: func(r *repo) (string, error) {
				return r.try(r.dir, "git", "commit", "-q", "--allow-empty", "-m", "x")
			},
		},
		{
			hook: "commit-msg", args: " [.git/COMMIT_EDITMSG]", blocks: true, status: true,
			prove: func(r *repo) { write(r.t, r.gitPath(r.dir, "githandoff/claims/ho_1.json"), "{}", 0o600) },
			act: func(r *repo) (string, error) {
				return r.try(r.dir, "git", "commit", "-q", "--allow-empty", "-m", "x")
			},
		},
		{
			hook: "pre-push", args: " [hub] [HUB]", blocks: true, status: true,
			input: []string{"refs/heads/main ", "refs/tags/t "},
			prove: func(r *repo) {
				r.commit("-m", "x")
				r.git("tag", "t")
				r.git("init", "-q", "--bare", r.hub())
				r.git("remote", "add", "hub", r.hub())
				require.NoError(r.t, os.Mkdir(r.gitPath(r.dir, "githandoff"), 0o700))
			},
			act: func(r *repo) (string, error) { return r.try(r.dir, "git", "push", "-q", "hub", "main", "t") },
		},
		{
			hook: "post-merge", args: " [0]",
			prove: func(r *repo) {
				r.commit("-m", "x")
				r.git("checkout", "-q", "-b", "side")
				r.commit("-m", "y")
				r.git("checkout", "-q", "main")
			},
			act: func(r *repo) (string, error) { return r.try(r.dir, "git", "merge", "-q", "side") },
		},
		{
			hook: "post-checkout", args: " [HEAD] [HEAD] [1]", status: true,
			prove: func(r *repo) { r.commit("-m", "x") },
			act:   func(r *repo) (string, error) { return r.try(r.dir, "git", "checkout", "-q", "-b", "side") },
		},
		{
			hook: "post-rewrite", args: " [amend]", input: []string{"HEAD "},
			prove: func(r *repo) { r.commit("-m", "x") },
			act: func(r *repo) (string, error) {
				return r.try(r.dir, "git", "commit", "-q", "--amend", "--allow-empty", "-m", "y")
			},
		},
	}
}

func (r *repo) hub() string { return filepath.Join(r.root, "hub.git") }

// stage makes a repository ready for the scene, with the hook installed, over another hook if chained is set. It
// returns the repository and its HEAD.
func (s scene) stage(t *testing.T, chained bool) (*repo, string) {
	r := newRepo(t)
	if s.prove != nil {
		s.prove(r)
	}
	if chained {
		r.hook(s.hook)
	}
	r.install(s.hook)
	head, err := r.try(r.dir, "git", "rev-parse", "--verify", "-q", "HEAD")
	if err != nil {
		head = ""
	}
	return r, strings.TrimSpace(head)
}

// check compares the records of the hook's callees: their order, and that each got these arguments and this
// input.
func (s scene) check(t *testing.T, r *repo, head string, whos ...string) {
	t.Helper()
	fill := strings.NewReplacer("HEAD", head, "HUB", r.hub())
	var want []string
	for _, who := range whos {
		if who == "githandoff" {
			who += " [hook] [run] [" + s.hook + "]"
		}
		want = append(want, who+fill.Replace(s.args))
		for _, begin := range s.input {
			want = append(want, fill.Replace("< "+begin))
		}
	}
	var got []string
	for line := range strings.Lines(r.recorded()) {
		line = strings.TrimSuffix(line, "\n")
		for _, begin := range s.input {
			if begin = fill.Replace("< " + begin); strings.HasPrefix(line, begin) {
				line = begin
			}
		}
		got = append(got, line)
	}
	assert.Equal(t, want, got)
}

func TestHook_alone(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.hook, func(t *testing.T) {
			r, head := s.stage(t, false)
			out, err := s.act(r)
			assert.NoError(t, err)
			assert.Empty(t, out)
			s.check(t, r, head, "githandoff")
		})
	}
}

func TestHook_chained(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.hook, func(t *testing.T) {
			r, head := s.stage(t, true)
			out, err := s.act(r)
			assert.NoError(t, err)
			assert.Empty(t, out)
			s.check(t, r, head, "before", "githandoff")
		})
	}
}

func TestHook_chainedAndFailing(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.hook, func(t *testing.T) {
			r, head := s.stage(t, true)
			r.setenv("before_STATUS=7")
			_, err := s.act(r)
			assert.Equal(t, s.status, err != nil, "%v", err)
			if s.blocks {
				s.check(t, r, head, "before")
			} else {
				s.check(t, r, head, "before", "githandoff")
			}
		})
	}
}

// If githandoff fails, git goes on.
func TestHook_githandoffFails(t *testing.T) {
	for _, s := range scenes() {
		for _, chained := range []bool{false, true} {
			t.Run(s.hook+"/"+strconv.FormatBool(chained), func(t *testing.T) {
				r, _ := s.stage(t, chained)
				r.setenv("githandoff_STATUS=70")
				_, err := s.act(r)
				assert.NoError(t, err)
				assert.Contains(t, r.recorded(), "githandoff [hook] [run]")
			})
		}
	}
}

// The one exception: githandoff stops a push that exceeds the agent's scope.
func TestHook_pushRefused(t *testing.T) {
	for _, s := range scenes() {
		for _, chained := range []bool{false, true} {
			t.Run(s.hook+"/"+strconv.FormatBool(chained), func(t *testing.T) {
				r, _ := s.stage(t, chained)
				r.setenv("githandoff_STATUS=7")
				_, err := s.act(r)
				assert.Equal(t, s.hook == "pre-push", err != nil, "%v", err)
			})
		}
	}
}

func TestHook_githandoffGone(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.hook, func(t *testing.T) {
			r, head := s.stage(t, true)
			require.NoError(t, os.Remove(r.exe))
			out, err := s.act(r)
			assert.NoError(t, err)
			assert.Empty(t, out, "an absent githandoff is passed over in silence")
			s.check(t, r, head, "before")
		})
	}
}

func TestHook_githandoffMoved(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.hook, func(t *testing.T) {
			r, head := s.stage(t, false)
			bin := filepath.Join(r.root, "bin")
			require.NoError(t, os.Rename(filepath.Dir(r.exe), bin))
			r.setenv("PATH=" + bin + ":" + gittest.PathWithout(t, "githandoff", "git-handoff"))
			out, err := s.act(r)
			assert.NoError(t, err)
			assert.Empty(t, out)
			s.check(t, r, head, "githandoff")
		})
	}
}

func TestHook_notWanted(t *testing.T) {
	tests := []struct {
		hook string
		act  func(r *repo)
	}{
		{"prepare-commit-msg", func(r *repo) { r.commit("-m", "x") }},
		{"commit-msg", func(r *repo) { r.commit("-m", "x") }},
		{"pre-push", func(r *repo) {
			r.git("init", "-q", "--bare", r.hub())
			r.git("push", "-q", r.hub(), "main")
		}},
		{"post-checkout", func(r *repo) { r.git("checkout", "-q", "--", "a") }},
	}
	for _, tt := range tests {
		t.Run(tt.hook, func(t *testing.T) {
			r := newRepo(t)
			write(t, filepath.Join(r.dir, "a"), "a", 0o644)
			r.git("add", "a")
			r.commit("-m", "x")
			r.hook(tt.hook)
			r.install(tt.hook)
			tt.act(r)
			got := r.recorded()
			assert.Contains(t, got, "before")
			assert.NotContains(t, got, "githandoff [")
			if tt.hook == "pre-push" {
				assert.Contains(t, got, "< refs/heads/main ")
			}
		})
	}
}

func TestPrePush_linkedWorktree(t *testing.T) {
	r := newRepo(t)
	tree := linked(r)
	r.git("init", "-q", "--bare", r.hub())
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, ".git", "githandoff"), 0o700))
	r.install("pre-push")
	r.run(tree, "git", "push", "-q", r.hub(), "other")
	assert.Contains(t, r.recorded(), "githandoff [hook] [run] [pre-push] ["+r.hub())
}

func TestPrePush_bare(t *testing.T) {
	r := newRepo(t, "--bare")
	tree := r.run(r.dir, "git", "hash-object", "-w", "-t", "tree", "/dev/null")
	commit := r.run(r.dir, "git", "commit-tree", "-m", "x", strings.TrimSpace(tree))
	r.git("update-ref", "refs/heads/main", strings.TrimSpace(commit))
	r.git("init", "-q", "--bare", r.hub())
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "githandoff"), 0o700))
	r.install("pre-push")
	r.git("push", "-q", r.hub(), "main")
	assert.Contains(t, r.recorded(), "githandoff [hook] [run] [pre-push] ["+r.hub())
}

// The input is larger than the buffer of a pipe. The first hook reads none of it, and the second must get all of
// it.
func TestHook_longInput(t *testing.T) {
	input := strings.Repeat("refs/heads/a\\n 0123456789abcdef \t refs/heads/b 0\n", 20000) + "\n\n"
	for _, name := range []string{"pre-push", "post-rewrite", "pre-receive"} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			require.NoError(t, os.Mkdir(r.gitPath(r.dir, "githandoff"), 0o700))
			write(t, r.exe, "#!/bin/sh\ncat >>\"$RECORD\"\n", 0o755)
			write(t, filepath.Join(r.hooksDir(), name), "#!/bin/sh\n:\n", 0o755)
			r.install(name)
			in := filepath.Join(r.root, "input")
			write(t, in, input, 0o644)
			out := r.run(r.dir, "sh", "-c", `.git/hooks/"$1" a b <"$2"`, "sh", name, in)
			assert.Empty(t, out)
			assert.True(t, r.recorded() == input, "standard input differs")
		})
	}
}

func TestHook_keptHookIsRunAsGitWould(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(r *repo, path string)
		want    string
	}{
		{"not executable", func(r *repo, path string) {
			write(t, path, recorderAs("before"), 0o644)
		}, "githandoff [hook] [run] [post-merge] [0]\n"},
		{"relative link", func(r *repo, path string) {
			write(t, filepath.Join(r.dir, "shared"), recorderAs("before"), 0o755)
			require.NoError(t, os.Symlink("../../shared", path))
		}, "before [0]\ngithandoff [hook] [run] [post-merge] [0]\n"},
		{"dangling link", func(r *repo, path string) {
			require.NoError(t, os.Symlink("nowhere", path))
		}, "githandoff [hook] [run] [post-merge] [0]\n"},
		{"no first line", func(r *repo, path string) {
			write(t, path, "echo before >>\"$RECORD\"\n", 0o755)
		}, "before\ngithandoff [hook] [run] [post-merge] [0]\n"},
		{"link to our own", func(r *repo, path string) {
			write(t, path+".real", string(render("post-merge", r.exe, "")), 0o755)
			require.NoError(t, os.Symlink("post-merge.real", path))
		}, "githandoff [hook] [run] [post-merge] [0]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			r.commit("-m", "x")
			tt.prepare(r, filepath.Join(r.hooksDir(), "post-merge"))
			assert.Equal(t, Chained, r.install("post-merge")[0].After)
			r.git("branch", "side")
			r.commit("-m", "y")
			r.git("checkout", "-q", "side")
			assert.Empty(t, r.git("merge", "-q", "main"))
			assert.Equal(t, tt.want, r.recorded())
		})
	}
}

// The script is removed from the place to which a hook manager moved it, and the former hook is put there. A
// file that is not exactly one of our scripts stays.
func TestUninstall_movedByAnother(t *testing.T) {
	tests := []struct {
		name      string
		earlier   bool
		edit      string // added to the moved script
		before    State
		atAside   string
		noManager bool
	}{
		{name: "alone", before: Moved},
		{name: "with an earlier hook", earlier: true, before: Moved, atAside: "before"},
		{name: "edited", edit: "# mine\n", before: Foreign, atAside: "# mine"},
		{name: "no hook runs it", before: Absent, noManager: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			if tt.earlier {
				r.hook("pre-push")
			}
			r.install("pre-push")
			path := filepath.Join(r.hooksDir(), "pre-push")
			aside := path + ".legacy"
			require.NoError(t, os.Rename(path, aside))
			if tt.edit != "" {
				data, err := os.ReadFile(aside)
				require.NoError(t, err)
				write(t, aside, string(data)+tt.edit, 0o755)
			}
			if !tt.noManager {
				write(t, path, "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n", 0o755)
			}
			found, err := Status(r.hooksDir(), []string{"pre-push"})
			require.NoError(t, err)
			assert.Equal(t, tt.before, found[0].Before)
			assert.Equal(t, tt.before, found[0].After)
			if !tt.noManager {
				_, err = Install(r.hooksDir(), []string{"pre-push"}, "")
				assert.True(t, fault.Is(err, fault.HookManager), err)
			}
			done, err := Uninstall(r.hooksDir(), []string{"pre-push"})
			require.NoError(t, err)
			if !tt.noManager {
				assert.Equal(t, Foreign, done[0].After)
			}
			assert.Equal(t, tt.edit != "" && tt.earlier, done[0].Backup != "")
			data, err := os.ReadFile(aside)
			if tt.atAside == "" {
				assert.ErrorIs(t, err, fs.ErrNotExist)
			} else {
				require.NoError(t, err)
				assert.Contains(t, string(data), tt.atAside)
			}
			assert.NoFileExists(t, path+backupSuffix)
		})
	}
}

// A hook manager that is installed later moves our script aside and calls it there. The hook from before our
// script still runs.
func TestHook_movedByAnother(t *testing.T) {
	r := newRepo(t)
	r.hook("post-merge")
	r.install("post-merge")
	path := filepath.Join(r.hooksDir(), "post-merge")
	require.NoError(t, os.Rename(path, path+".legacy"))
	r.run(r.dir, path+".legacy", "0")
	assert.Equal(t, "before [0]\ngithandoff [hook] [run] [post-merge] [0]\n", r.recorded())
}

func TestHook_hooksPath(t *testing.T) {
	for _, name := range []string{"team hooks", "ABSOLUTE"} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			if name == "ABSOLUTE" {
				name = filepath.Join(r.root, "elsewhere")
			}
			r.git("config", "core.hooksPath", name)
			r.hook("post-commit")
			r.install("post-commit")
			assert.NoFileExists(t, filepath.Join(r.dir, ".git", "hooks", "post-commit"))
			r.commit("-m", "x", "-m", "Handoff-To: fixer")
			assert.Equal(t, "before\n"+ran, r.recorded())

			tree := filepath.Join(r.root, "linked tree")
			r.git("worktree", "add", "-q", "-b", "other", tree)
			if filepath.IsAbs(name) {
				r.run(tree, "git", "commit", "-q", "--allow-empty", "-m", "x", "-m", "Handoff-To: fixer")
				assert.Equal(t, "before\n"+ran, r.recorded())
			}
		})
	}
}
