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

func readConfig(ctx context.Context, run *gitexec.Runner) (Config, error) {
	out, err := run.Run(ctx, gitexec.Cmd{Args: []string{"config", "-z", "--list"}})
	if err != nil {
		return nil, err
	}
	c := Config{}
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		c.add(item)
	}
	return c, nil
}

// add takes an item as git prints it: a key, and behind a line feed its value.
func (c Config) add(item string) {
	key, value, ok := strings.Cut(item, "\n")
	if !ok {
		value = "true" // a key without "="
	}
	c[key] = append(c[key], value)
}

// readOrigins is readConfig, with everything that git read a setting from: "file:" and a
// path, or "command line:".
func readOrigins(ctx context.Context, run *gitexec.Runner) (Config, map[string]bool, error) {
	out, err := run.Run(ctx, gitexec.Cmd{Args: []string{"config", "-z", "--list", "--show-origin"}})
	if err != nil {
		return nil, nil, err
	}
	c, origins := Config{}, map[string]bool{}
	fields := strings.Split(string(out), "\x00") // an origin, an item, …, and nothing at the end
	for i := 0; i+1 < len(fields); i += 2 {
		origins[fields[i]] = true
		c.add(fields[i+1])
	}
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
	list := c[key]
	if len(list) == 0 {
		return false
	}
	switch strings.ToLower(c.Get(key)) {
	case "false", "no", "off", "0", "":
		return true
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
