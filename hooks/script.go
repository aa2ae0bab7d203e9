package hooks

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"githandoff/internal/fault"
)

//go:embed script
var scripts embed.FS

const (
	version = 1
	shebang = "#!/bin/sh\n"
	marker  = "# githandoff hook "
	notice  = `#
# Written by "githandoff hook install". "githandoff hook uninstall" puts back
# what was here before, unless this file was edited: then it is left alone.
`
)

// Names lists the hooks of a clone.
func Names() []string {
	return []string{"post-commit", "prepare-commit-msg", "commit-msg", "pre-push", "post-merge", "post-checkout", "post-rewrite"}
}

// ServerNames lists the hooks of a hub.
func ServerNames() []string { return []string{"pre-receive"} }

// readsInput reports whether git gives the hook something on standard input.
func readsInput(name string) bool {
	return name == "pre-push" || name == "post-rewrite" || name == "pre-receive"
}

// parts lists the files in script/part needed by the script of a hook.
func parts(name string) []string {
	switch name {
	case "post-commit", "prepare-commit-msg":
		return []string{"before", "run", "git-dir", "claimed", "trailer"}
	case "commit-msg":
		return []string{"before", "run", "git-dir", "claimed"}
	case "pre-push":
		return []string{"before", "run", "git-dir", "feed"}
	case "post-rewrite":
		return []string{"before", "run", "feed"}
	case "pre-receive":
		return []string{"before", "feed"}
	}
	return []string{"before", "run"}
}

func checkName(name string) error {
	if slices.Contains(Names(), name) || slices.Contains(ServerNames(), name) {
		return nil
	}
	return fault.New(fault.Usage, fault.UnknownHook, "no hook %q", name).
		WithHints(fault.Fact("the hooks are %s, and on a hub %s",
			strings.Join(Names(), ", "), strings.Join(ServerNames(), ", ")))
}

// checkExe accepts an absolute path that fits on one line of a script, or an empty path: then the
// hook finds the program in PATH.
func checkExe(exe string) error {
	if exe != "" && !filepath.IsAbs(exe) || strings.ContainsAny(exe, "\n\x00") {
		return fault.New(fault.Usage, fault.InvalidPath, "a hook cannot run %q: want an absolute path on one line", exe)
	}
	return nil
}

// render returns the script of a known hook. It starts exe, or the program in PATH if exe is
// empty or gone. Shell is that of the kept hook, see [shellFor].
func render(name, exe, shell string) []byte {
	var body bytes.Buffer
	body.WriteString(notice)
	fmt.Fprintf(&body, "hook=%s\n", name)
	fmt.Fprintf(&body, "githandoff='%s'\n", strings.ReplaceAll(exe, "'", `'\''`))
	fmt.Fprintf(&body, "shell='%s'\n", shell)
	for _, part := range parts(name) {
		body.WriteString("\n" + text("part/"+part))
	}
	body.WriteString("\n" + text(name))
	return encode(version, body.Bytes())
}

func text(name string) string {
	data, err := scripts.ReadFile("script/" + name + ".sh")
	if err != nil {
		panic(err) // the name was checked, and the script is embedded in the program
	}
	return string(data)
}

func encode(version int, body []byte) []byte {
	head := fmt.Sprintf("%s%s%d sha256:%x\n", shebang, marker, version, sha256.Sum256(body))
	return append([]byte(head), body...)
}

// An origin says who is answerable for the bytes of a hook.
type origin int

const (
	theirs origin = iota // not written by githandoff
	edited               // written by githandoff and changed since
	intact               // as some version of githandoff wrote it
)

var markerLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + marker + `([1-9][0-9]{0,3}) sha256:[0-9a-f]{64}\n`)
})

func originOf(data []byte) origin {
	rest, ok := bytes.CutPrefix(data, []byte(shebang))
	if !ok || !bytes.HasPrefix(rest, []byte(marker)) {
		return theirs
	}
	line := markerLine().FindSubmatch(rest)
	if line == nil {
		return edited
	}
	v, err := strconv.Atoi(string(line[1]))
	if err != nil || !bytes.Equal(encode(v, rest[len(line[0]):]), data) {
		return edited
	}
	return intact
}

var setting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^githandoff='((?:[^'\n]|'\\'')*)'$`)
})

// exeOf returns the program started by an intact script.
func exeOf(data []byte) (exe string, ok bool) {
	m := setting().FindSubmatch(data)
	if m == nil {
		return "", false
	}
	return strings.ReplaceAll(string(m[1]), `'\''`, `'`), true
}

// current reports whether data is the script this githandoff would write.
func current(name, shell string, data []byte) bool {
	exe, ok := exeOf(data)
	return ok && bytes.Equal(render(name, exe, shell), data)
}

// Program returns the path by which hooks start this program. A link in a directory of path, the
// value of $PATH, is better than its target, since an upgrade changes the target.
func Program(path string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	own, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for _, dir := range filepath.SplitList(path) {
		link := filepath.Join(dir, "githandoff")
		if info, err := os.Stat(link); filepath.IsAbs(dir) && err == nil && os.SameFile(info, own) {
			return link, nil
		}
	}
	return exe, nil
}
