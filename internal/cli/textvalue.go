package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"githandoff/internal/fault"
	"githandoff/internal/untrusted"
)

// text reads the value of a flag with a text: the text itself, @FILE, or @- for standard input. A
// text with "@" at its start is written "@@…".
//
// Agents quote the words of others on their command lines, so a stranger's title may begin with
// "@". It must not choose a file: FILE is a path below the current directory, and neither hidden
// nor named like a key or a password. Flags whose value goes into the log for ever read no files
// at all.
func (a *app) text(flag, s string) (string, error) {
	v, err := a.exact(flag, s)
	if strings.HasPrefix(s, "@") && !strings.HasPrefix(s, "@@") {
		if line, ended := strings.CutSuffix(v, "\n"); ended { // the line end of a file is no part of the text
			v = strings.TrimSuffix(line, "\r")
		}
	}
	return v, err
}

// exact is like text, but keeps every byte of the file.
func (a *app) exact(flag, s string) (string, error) {
	name, ok := strings.CutPrefix(s, "@")
	switch {
	case !ok:
		return s, nil
	case strings.HasPrefix(name, "@"):
		return name, nil
	}
	if name == "-" {
		b, err := a.readInput(name)
		return string(b), err
	}
	b, err := a.readBelow(name)
	if f := fault.As(err); f != nil {
		f.Message = flag + ": " + f.Message
		return "", f.WithHints(fault.Hint{Why: "a text that begins with @ is written with @@; any file can be given on standard input, as @-"})
	}
	if err != nil {
		return "", err
	}
	a.Say("githandoff: %s is read from %s (%d bytes)", flag, untrusted.Line(name), len(b))
	return string(b), nil
}

// literal returns the argument by which a text option takes s literally.
func literal(s string) string {
	if strings.HasPrefix(s, "@") {
		return "@" + s
	}
	return s
}

// readBelow reads a regular file below the directory of the command.
func (a *app) readBelow(name string) ([]byte, error) {
	refuse := func(why string) error {
		return fault.New(fault.Usage, fault.InvalidPath, "@%s is not read: %s", untrusted.Line(name), why)
	}
	switch {
	case !filepath.IsLocal(name):
		return nil, refuse("it is not a path below this directory")
	case secretName(name):
		return nil, refuse("it is hidden, or its name is that of a secret")
	}
	below, err := os.OpenRoot(cmp.Or(a.Dir, "."))
	if err != nil {
		return nil, fault.New(fault.NotFound, fault.NoSuchFile, "%w", err)
	}
	defer func() { _ = below.Close() }()
	for part := filepath.Clean(name); part != "."; part = filepath.Dir(part) {
		info, err := below.Lstat(part)
		if err != nil {
			return nil, absent("@"+name, err)
		}
		if plain := info.IsDir() || info.Mode().IsRegular(); !plain || part == filepath.Clean(name) && info.IsDir() {
			return nil, refuse("it is not a regular file, or a link leads to it")
		}
	}
	f, err := below.Open(name)
	if err != nil {
		return nil, absent("@"+name, err)
	}
	defer f.Close()
	return readAll(f, "@"+name)
}

// absent says why a file cannot be read, without the name of a system call.
func absent(name string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fault.New(fault.NotFound, fault.NoSuchFile, "%s: %w", untrusted.Line(name), err)
}

var secretNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(.*\.(pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg|ppk|env|tfstate|tfvars|ovpn)(\..*)?|id_(rsa|dsa|ecdsa|ed25519).*|` +
		`_?(secrets?|passwords?|passwd|credentials?|tokens?|netrc|htpasswd|kubeconfig|service-account.*)(\..*)?)$`)
})

// secretName reports whether a part of a path is hidden, or is named as files with
// keys and passwords are.
func secretName(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		if strings.HasPrefix(part, ".") || secretNames().MatchString(part) {
			return true
		}
	}
	return false
}
