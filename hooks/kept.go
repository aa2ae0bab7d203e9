package hooks

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
)

// patterns match how a hook of others looks at its own name.
type patterns struct {
	shell *regexp.Regexp // first line of a script for sh, dash or bash
	any   *regexp.Regexp // how a script in any language asks for its own name
	file  *regexp.Regexp // a shell line that takes $0 for a file, such as one that follows it as a symbolic link
	asks  *regexp.Regexp // a shell line that asks for the name or the directory in $0
	says  *regexp.Regexp // a shell line that only prints $0, or a comment
}

var look = sync.OnceValue(func() *patterns {
	return &patterns{
		shell: regexp.MustCompile(`^#! *([\w./+ -]*[/ ](?:sh|dash|bash)(?: -[a-z]+)?)\n`),
		any:   regexp.MustCompile(`\$\{?0\b|PROGRAM_NAME|argv\[0\]|process\.argv\[1\]|__filename|__FILE__|__file__|BASH_SOURCE`),
		file:  regexp.MustCompile(`readlink.*0|realpath.*0| -[Lh] .*0`),
		asks:  regexp.MustCompile(`(name|case|\[ ).*\$\{?0|\$\{0[#%]|\$(0|\{0\})[-._]`),
		says:  regexp.MustCompile(`^\s*(#|echo|printf)|>&2`),
	}
})

// shellFor returns the words that start a shell, which reads a kept hook under the name of the
// original hook. Scripts of hook managers ask for their name or directory to learn which hook they
// are. The result is empty for a hook that runs as its file, under the name of the file: it is not a
// shell script, or it does not ask for its name or directory. A script that reads or starts $0, or
// follows it as a symbolic link, means its file, which does not exist under the name of the hook. Our
// own scripts know their name.
func shellFor(kept []byte) string {
	p := look()
	first := p.shell.FindSubmatch(kept)
	if first == nil || bytes.Contains(kept, []byte("BASH_SOURCE")) || bytes.Contains(kept, []byte("\n"+marker)) {
		return ""
	}
	asks := false
	for line := range bytes.Lines(kept) {
		switch {
		case !bytes.Contains(line, []byte("$0")) && !bytes.Contains(line, []byte("${0")):
		case p.file.Match(line):
			return ""
		case p.asks.Match(line):
			asks = true
		case !p.says.Match(line):
			return ""
		}
	}
	if !asks {
		return ""
	}
	return strings.TrimSpace(string(first[1]))
}

// Misnamed reports whether the kept hook runs, and is a script that looks at its name and sees another
// one than before: that of its file.
func (r Result) Misnamed() bool {
	kept, _ := os.ReadFile(r.Backup)
	p := look()
	return r.After == Chained && bytes.HasPrefix(kept, []byte("#!")) && p.any.Match(kept) &&
		(!p.shell.Match(kept) || bytes.Contains(kept, []byte("BASH_SOURCE")))
}
