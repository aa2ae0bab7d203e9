package output

import (
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
)

// Invocation is the command line of this process. Hints repeat parts of it, so they work where it
// was typed.
type Invocation struct {
	Args         []string // arguments as they were typed
	Dir, As, Key string   // -C, --as and --key
	GitDir       string   // GIT_DIR, if it is the absolute path of a bare repository

	// Ends finds the shortest unique ends of ids, for a person at a terminal. Where it is
	// nil, hints have whole ids.
	Ends func(ids []handoff.ID) handoff.Ends
}

// Pasted returns the shown hints of an error, ready to paste.
func (v *Invocation) Pasted(all []fault.Hint) []fault.Hint {
	var shown []fault.Hint
	for _, h := range all[:min(len(all), fault.MaxHints)] {
		if h.Run != nil {
			h.Run = v.Here(h.Run)
		} else {
			h = h.In(append(v.there("githandoff"), v.Args...))
		}
		shown = append(shown, h)
	}
	return v.shortened(shown)
}

// shortened returns hints whose ids are as short as a person may type them.
func (v *Invocation) shortened(hints []fault.Hint) []fault.Hint {
	var ids []handoff.ID
	for _, h := range hints {
		h.Map(func(arg string) string {
			if id, err := handoff.ParseID(arg); err == nil {
				ids = append(ids, id)
			}
			return arg
		})
	}
	if v.Ends == nil || len(ids) == 0 {
		return hints
	}
	ends := v.Ends(ids)
	for i, h := range hints {
		hints[i] = h.Map(func(arg string) string {
			if end, ok := ends[handoff.ID(arg)]; ok {
				return end
			}
			return arg
		})
	}
	return hints
}

// there begins a command for the repository that GIT_DIR names, if it does.
func (v *Invocation) there(program string) []string {
	if v.GitDir == "" {
		return []string{program}
	}
	return []string{"env", "GIT_DIR=" + v.GitDir, program}
}

// Here adds GIT_DIR, -C, --as and --key of this command to another one. One that begins with --as is for another
// agent, which has a key of its own.
func (v *Invocation) Here(argv []string) []string {
	if len(argv) < 2 || argv[0] != "githandoff" && argv[0] != "git" || slices.Contains(argv, "--help") || argv[1] == "help" || strings.HasPrefix(argv[1], "--git-dir=") {
		return argv
	}
	out, key := v.there(argv[0]), v.Key
	switch {
	case argv[1] == "-C" && filepath.IsAbs(argv[2]):
		out, key = []string{argv[0]}, v.KeyAnywhere()
	case v.Dir != "" && (argv[1] != "-C" || argv[2] != v.Dir): // a hint that repeats this command has its -C already
		out = append(out, "-C", v.Dir)
	}
	if v.As != "" && argv[0] == "githandoff" && !slices.Contains(argv, "--as") {
		out = append(out, "--as", v.As)
	}
	if key != "" && argv[0] == "githandoff" && argv[1] != "--as" && !slices.Contains(argv, "--key") {
		out = append(out, "--key", key)
	}
	return append(out, argv[1:]...)
}

// KeyAnywhere returns the --key of this command for one in another directory.
func (v *Invocation) KeyAnywhere() string {
	key, err := sign.AbsoluteKey(sign.KeyIn(v.Dir, v.Key))
	if err != nil {
		return v.Key
	}
	return key
}

// Self begins a command for the directory of this one.
func (v *Invocation) Self() []string {
	self := v.there("githandoff")
	if v.Dir != "" {
		self = append(self, "-C", v.Dir)
	}
	return self
}

// First returns the first hint as a line for a shell, "" if there is none.
func First(hints []fault.Hint) string {
	if len(hints) == 0 {
		return ""
	}
	return hints[0].String()
}
