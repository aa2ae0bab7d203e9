package refs

import (
	"context"
	"strings"

	"githandoff/internal/gitexec"
)

// Config is the git configuration as git itself reads it, includes and scopes
// applied: key to values, the last one wins. Section and variable are in lower
// case, a subsection is as written.
type Config map[string][]string

// since is a setting without a meaning.
const since = "githandoff.since"

// readConfig asks git for its configuration, and for everything that git read a setting
// from: "file:" and a path, or "command line:". A git that is older than OldestGit fails: it
// does not know --config-env.
func readConfig(ctx context.Context, run *gitexec.Runner) (Config, map[string]bool, error) {
	out, err := run.Run(ctx, gitexec.Cmd{Args: []string{"--config-env=" + since + "=LC_ALL", "config", "-z", "--list", "--show-origin"}})
	if err != nil {
		return nil, nil, err
	}
	c, origins := Config{}, map[string]bool{}
	fields := strings.Split(string(out), "\x00") // an origin, a setting, …, and nothing at the end
	for i := 0; i+1 < len(fields); i += 2 {
		origins[fields[i]] = true
		key, value, ok := strings.Cut(fields[i+1], "\n")
		if !ok {
			value = "true" // a key without "="
		}
		c[key] = append(c[key], value)
	}
	delete(c, since)
	return c, origins, nil
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
func (c Config) Bool(key string) bool {
	switch strings.ToLower(c.Get(key)) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// Off reports whether a setting was switched off: a word that is no boolean does
// not do that.
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
