package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// intentModes returns the modes that the index has for paths added with "git add --intent-to-add".
// The file may be of another kind by now, and "git status" does not show the mode of the index.
func intentModes(ctx context.Context, run *gitexec.Runner, paths []string) (map[string]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := run.Run(ctx, gitexec.Cmd{Args: listIndex, MaxOutput: 1 << 30})
	if err != nil {
		return nil, gitFailed(err, "read the index")
	}
	index, err := parseIndex(string(out))
	if err != nil {
		return nil, err
	}
	modes := map[string]string{}
	for _, path := range paths {
		if modes[path] = index[path].mode; !isIntentMode(modes[path]) {
			return nil, changedMeanwhile(show(path))
		}
	}
	return modes, nil
}

func isIntentMode(mode string) bool {
	return mode == gitobj.File || mode == gitobj.Exec || mode == gitobj.Symlink
}

// readIntents reads the lines written by indexMessage. It reports false for any other line.
func (c *Contents) readIntents(message string) bool {
	c.intentModes = map[string]string{}
	for line := range strings.Lines(message) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, intentLine); ok {
			path, err := unquoted(rest)
			if err != nil || !isPlainPath(path) || c.intentModes[path] != "" {
				return false
			}
			c.Intents = append(c.Intents, path)
			c.intentModes[path] = gitobj.File
			continue
		}
		if rest, ok := strings.CutPrefix(line, intentModeLine); ok {
			mode, quotedPath, _ := strings.Cut(rest, " ")
			path, err := unquoted(quotedPath)
			if err != nil || !isIntentMode(mode) || c.intentModes[path] == "" {
				return false
			}
			c.intentModes[path] = mode
		}
	}
	return true
}

// isPlainPath reports whether an index may have a path.
func isPlainPath(path string) bool {
	return filepath.IsLocal(path) && !slices.ContainsFunc(strings.Split(path, "/"), handoff.NamesGitDir)
}

// addIntents adds the paths to the index of the repository in which run runs. git takes their modes
// from empty files in a directory that stands for the work tree.
func (c *Contents) addIntents(ctx context.Context, run *gitexec.Runner) error {
	s, err := newScratch(c.repo)
	if err != nil {
		return err
	}
	defer s.close()
	top := filepath.Join(s.dir.Path, "intents")
	for _, path := range c.Intents {
		if err := makeEmpty(filepath.Join(top, path), c.intentModes[path]); err != nil {
			return refs.DiskFault(err)
		}
	}
	args := slices.Concat([]string{"--work-tree=" + top}, plain, []string{
		"-c", "core.safecrlf=false", "-c", "core.fileMode=true", "-c", "core.symlinks=true",
		"add", "--force", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul",
	})
	_, err = run.Run(ctx, gitexec.Cmd{
		Args: args, Stdin: strings.NewReader(strings.Join(c.Intents, "\x00") + "\x00"),
		Env: []string{"GIT_LITERAL_PATHSPECS=1"}, Finish: true,
	})
	return err
}

// makeEmpty makes an empty file, or a dangling link.
func makeEmpty(path, mode string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if mode == gitobj.Symlink {
		return os.Symlink("nowhere", path)
	}
	perm := os.FileMode(0o600)
	if mode == gitobj.Exec {
		perm = 0o700
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	return f.Close()
}
