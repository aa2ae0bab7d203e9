package refs

import (
	"cmp"
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// Config is the git configuration as git itself reads it, includes and scopes
// applied: key to values, the last one wins. Section and variable are in lower
// case, a subsection is as written.
type Config map[string][]string

// since is a setting without a meaning, given to git by --config-env. git lists it last: without it,
// the list is not complete.
const since = "githandoff.since"

// settings is the git configuration and all its sources: "file:" and a path, or "command
// line:".
type settings struct {
	config  Config
	origins map[string]bool
	list    settingsList
}

// settingsList is the output of "git config -z --list --show-origin": pairs of source and setting.
type settingsList string

// sources returns where a setting comes from; with a value, where that line of it does. It leaves out a file that also
// has the key alone: a git that looks for a value there crashes, and leaves its lock behind.
func (l settingsList) sources(key, value string) map[string]bool {
	found, alone := map[string]bool{}, map[string]bool{}
	fields := strings.Split(string(l), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		name, text, valued := strings.Cut(fields[i+1], "\n")
		switch {
		case name != key:
		case value == "" || valued && value == text:
			found[fields[i]] = true
		case !valued:
			alone[fields[i]] = true
		}
	}
	maps.DeleteFunc(found, func(source string, _ bool) bool { return alone[source] })
	return found
}

// askSettings starts the git reading the configuration, and returns a function to wait for its
// answer. The caller calls it once. A git before 2.31 fails: it does not know --config-env.
func askSettings(ctx context.Context, run *gitexec.Runner) (answer func() (settings, error)) {
	ctx, cancel := context.WithTimeout(ctx, gitexec.LocalTimeout)
	git, err := run.Start(ctx, gitexec.Cmd{Args: []string{"--config-env=" + since + "=LC_ALL", "config", "-z", "--list", "--show-origin"}})
	return func() (settings, error) {
		defer cancel()
		if err != nil {
			return settings{}, err
		}
		out, rerr := io.ReadAll(git.Out)
		if err := cmp.Or(git.Close(), rerr); err != nil {
			return settings{}, err
		}
		return parseSettings(string(out))
	}
}

func parseSettings(out string) (settings, error) {
	s := settings{config: Config{}, origins: map[string]bool{}, list: settingsList(out)}
	fields := strings.Split(out, "\x00") // pairs of origin and setting, with an empty field at the end
	if n := len(fields) - 1; n < 2 || fields[n] != "" || !strings.HasPrefix(fields[n-1], since+"\n") {
		return s, &gitexec.Error{Program: "git config", Err: gitexec.ErrCutOff}
	}
	for i := 0; i+1 < len(fields); i += 2 {
		s.origins[fields[i]] = true
		key, value, ok := strings.Cut(fields[i+1], "\n")
		if !ok {
			value = "true" // a key without "=" is true
		}
		s.config[key] = append(s.config[key], value)
	}
	delete(s.config, since)
	return s, nil
}

// ConfigKey spells a key as a [Config] has it: only a subsection keeps its capital letters.
func ConfigKey(key string) string {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	if first < 0 {
		return strings.ToLower(key)
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}

// Unset returns the commands that remove a setting, or of its lines those with a value, from each file that has
// it: those of this repository, and others that count here. why says what that is good for.
func (r *Repo) Unset(key, value, why string) (hints []fault.Hint) {
	remove := []string{"--unset-all", key}
	if value != "" {
		remove = []string{"--fixed-value", "--unset-all", key, value}
	}
	for _, source := range slices.Sorted(maps.Keys(r.settings.sources(ConfigKey(key), value))) {
		name, isFile := strings.CutPrefix(source, "file:")
		if !isFile {
			continue
		}
		var file []string
		switch name = below(cmp.Or(r.Worktree, r.CommonDir), name); RealPath(name) {
		case filepath.Join(r.CommonDir, "config"):
		case filepath.Join(r.GitDir, "config.worktree"):
			file = []string{"--worktree"}
		default:
			file = []string{"--file", name}
		}
		hints = append(hints, fault.Run(slices.Concat([]string{"git", "config"}, file, remove)...).Because("%s", why))
	}
	if hints == nil {
		hints = []fault.Hint{fault.Run("git", "config", "--show-origin", "--get-all", key).Because("shows what sets it")}
	}
	return hints
}

// Put replaces the values of a key; none removes it.
func (c Config) Put(key string, values []string) {
	if len(values) == 0 {
		delete(c, ConfigKey(key))
		return
	}
	c[ConfigKey(key)] = values
}

// Get returns the effective value, or "".
func (c Config) Get(key string) string {
	if v := c[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// All returns every value of a key, and splits values at commas and spaces:
// lists may be written both ways.
func (c Config) All(key string) []string {
	var list []string
	for _, v := range c[key] {
		list = append(list, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return list
}

// Bool reads a boolean as git does, without its numbers.
func (c Config) Bool(key string) bool { return isTrue(c.Get(key)) }

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// TrailerColon returns options with which git reads and writes trailers with a colon, whatever the user's
// setting is: git writes the first of the separators.
func (c Config) TrailerColon() []string {
	return []string{"-c", "trailer.separators=:" + c.Get("trailer.separators")}
}

// Off reports whether a setting was switched off: a word that is not a boolean does not do so.
func (c Config) Off(key string) bool {
	switch strings.ToLower(c.Get(key)) {
	case "false", "no", "off", "0", "":
		return len(c[key]) > 0
	}
	return false
}

// Subsections lists the names between section and variable: for "remote" and
// "url" the names of all remotes, in no order.
func (c Config) Subsections(section, variable string) []string {
	var names []string
	for key := range c {
		rest, ok := strings.CutPrefix(key, section+".")
		if !ok {
			continue
		}
		if name, ok := strings.CutSuffix(rest, "."+variable); ok {
			names = append(names, name)
		}
	}
	return names
}

// withinTransports returns an environment of git with those of its transports that the settings allow
// (git-config(1), protocol.allow), or nil if they allow all. git asks no setting where GIT_ALLOW_PROTOCOL
// is set, so the settings do not count if the user's variable leaves out a transport.
func (c Config) withinTransports(env []string) []string {
	all := gitexec.AllowedTransports(env)
	if strings.Join(all, ":") != gitexec.Transports {
		return nil
	}
	value, set := gitexec.Lookup(env, "GIT_PROTOCOL_FROM_USER")
	n, err := strconv.Atoi(value)
	typed := !set || isTrue(value) || err == nil && n != 0
	allowed := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		policy := "always"
		if name == "file" {
			policy = "user"
		}
		for _, key := range []string{"protocol.allow", "protocol." + name + ".allow"} {
			if len(c[key]) > 0 {
				policy = c.Get(key)
			}
		}
		switch strings.ToLower(policy) {
		case "always":
			return false
		case "user":
			return !typed
		}
		return true // git ends at a word that it does not know
	})
	if len(allowed) == len(all) {
		return nil
	}
	return gitexec.WithTransports(env, allowed)
}
