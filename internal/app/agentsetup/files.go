package agentsetup

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"githandoff/extensions"
	"githandoff/internal/agents"
	"githandoff/internal/fault"
	"githandoff/plugins"
)

// The parts that are set up unless they are left out.
const (
	Hooks = "hooks"
	Skill = "skill"
)

// The extras, which are set up only if they are asked for.
const (
	MCP     = "mcp"     // the MCP server with githandoff's tools
	Wake    = "wake"    // an arriving handoff wakes a session that waits for its user
	Approve = "approve" // the tools of the MCP server run without asking
)

// Parts lists the parts that can be left out.
func Parts() []string { return []string{Hooks, Skill} }

// Clients lists the supported agents. "agents-md" stands for those without hooks: a paragraph in
// AGENTS.md tells them of githandoff.
func Clients() []string {
	return []string{"claude", "codex", "gemini", "opencode", "copilot", "cursor", "agents-md"}
}

// wanted is a file as it should be: whole if it is our own, otherwise a number of entries in a
// shared file.
type wanted struct {
	client, part string
	path         string
	own          []byte
	entries      []entry
	fresh        []byte // content to give a shared file that is missing
	block        string // marked paragraph of a text file, or table of a TOML file
	toml         bool   // block is a table of a TOML file
	root         string // work tree that the file must not leave; "" for a file of the user
}

// entry is an element of a list in a shared JSON file.
type entry struct {
	list   []string // names of the members that lead to the list
	value  any
	mark   string // text within the entry by which it is found again
	member bool   // list leads to a member of an object: value is that member, and no element
}

// in reports whether a text has the entry: the member, or its mark in a string of the list.
func (e entry) in(text []byte) (bool, error) {
	v, err := at(text, e.list)
	if v == nil || err != nil || e.member {
		return v != nil, err
	}
	for inner := range v.All() {
		if lit, ok := inner.Value.(hujson.Literal); ok && lit.Kind() == '"' && strings.Contains(lit.String(), e.mark) {
			return true, nil
		}
	}
	return false, nil
}

// files lists the files for a request.
func (r *Request) files() ([]wanted, error) {
	var all []wanted
	for _, client := range r.Clients {
		var list []wanted
		var err error
		if r.Project {
			list, err = r.projectFiles(client)
		} else {
			list, err = r.userFiles(client)
		}
		if err != nil {
			return nil, err
		}
		more, err := extras(r, client, list)
		if err != nil {
			return nil, err
		}
		all = append(append(all, list...), more...)
	}
	for i := range all {
		if r.Project && strings.HasPrefix(all[i].path, r.Root+string(filepath.Separator)) {
			all[i].root = r.Root
		}
	}
	all = slices.DeleteFunc(all, func(w wanted) bool { return slices.Contains(r.Without, w.part) })
	return merged(all), nil
}

// merged puts the entries of a client for one shared file together. A file of two clients counts
// for the first one.
func merged(all []wanted) []wanted {
	var out []wanted
	for _, w := range all {
		i := slices.IndexFunc(out, func(o wanted) bool { return o.path == w.path })
		switch {
		case i < 0:
			out = append(out, w)
		case out[i].client == w.client:
			out[i].entries = append(slices.Clone(out[i].entries), w.entries...)
		}
	}
	return out
}

func (r *Request) userFiles(client string) ([]wanted, error) {
	skill := r.skill(client, filepath.Join(r.Home, ".agents", "skills"))
	switch client {
	case "claude":
		return r.tree(client, plugins.Files, "githandoff", claudePlugin(r),
			".codex-plugin", "hooks/codex.json")
	case "codex":
		w, err := r.shared(client, filepath.Join(r.home(client), "hooks.json"), plugins.Files, "githandoff/hooks/codex.json")
		return append([]wanted{w}, skill...), err
	case "gemini":
		return r.tree(client, extensions.Files, "gemini", filepath.Join(r.home(client), "extensions", "githandoff"))
	case "opencode":
		w, err := r.whole(client, filepath.Join(r.home(client), "plugins", "githandoff.js"), "opencode/githandoff.js")
		return append([]wanted{w}, skill...), err
	case "copilot":
		w, err := r.whole(client, filepath.Join(r.home(client), "hooks", "githandoff.json"), "copilot/githandoff.json")
		return append([]wanted{w}, skill...), err
	case "cursor":
		w, err := r.shared(client, filepath.Join(r.home(client), "hooks.json"), extensions.Files, "cursor/hooks.json")
		return append([]wanted{w}, skill...), err
	case "agents-md":
		return nil, fault.New(fault.Usage, fault.BadUsage, "agents-md is a file of a project: it needs --project")
	}
	return nil, unknown(client)
}

func (r *Request) projectFiles(client string) ([]wanted, error) {
	at := func(elem ...string) string { return filepath.Join(append([]string{r.Root}, elem...)...) }
	skill := r.skill(client, at(".agents", "skills"))
	var w wanted
	var err error
	switch client {
	case "claude":
		w, err = r.shared(client, at(".claude", "settings.json"), plugins.Files, "githandoff/hooks/hooks.json")
		skill = r.skill(client, at(".claude", "skills"))
	case "codex":
		w, err = r.shared(client, at(".codex", "hooks.json"), plugins.Files, "githandoff/hooks/codex.json")
	case "gemini":
		w, err = r.shared(client, at(".gemini", "settings.json"), extensions.Files, "gemini/hooks/hooks.json")
	case "opencode":
		w, err = r.whole(client, at(".opencode", "plugins", "githandoff.js"), "opencode/githandoff.js")
	case "copilot":
		if slices.Contains(r.Clients, "claude") || r.claudeHooks() != "" {
			return skill, nil // Copilot CLI runs the hooks of .claude/settings.json as well
		}
		w, err = r.whole(client, at(".github", "hooks", "githandoff.json"), "copilot/githandoff.json")
	case "cursor":
		return nil, fault.New(fault.Usage, fault.BadUsage, "cursor is set up for a user only: it does not take --project")
	case "agents-md":
		return []wanted{{client: client, part: Skill, path: at("AGENTS.md"), block: paragraph}}, nil
	default:
		return nil, unknown(client)
	}
	return append([]wanted{w}, skill...), err
}

// claudeHooks returns the file of the project with Claude Code's hooks of an earlier set-up, on this
// machine or on another one; "" if there are none.
func (r *Request) claudeHooks() string {
	path := filepath.Join(r.Root, ".claude", "settings.json")
	if !hasHooks(path, "claude") {
		return ""
	}
	return path
}

// paragraph is the text for agents without hooks, between the marks.
const paragraph = "<!-- githandoff -->\n" +
	"Work may arrive from other agents: `githandoff status` says what waits, `githandoff resume` claims one\n" +
	"and prints it, `githandoff ack` or `githandoff fail --reason TEXT` ends it. See `githandoff --help`.\n" +
	"<!-- /githandoff -->\n"

func unknown(client string) error {
	return fault.New(fault.Usage, fault.BadUsage, "unknown agent %s; known agents: %s", strconv.Quote(client), strings.Join(Clients(), ", ")).
		WithHints(fault.Run("githandoff", "setup").Because("lists the agents that are installed here"))
}

// home returns the directory with a client's files of this user.
func (r *Request) home(client string) string {
	return agents.Dir(client, r.Home, r.ConfigHome, r.Getenv)
}

func (r *Request) skill(client, dir string) []wanted {
	b, err := plugins.Files.ReadFile("githandoff/skills/handoff/SKILL.md")
	if err != nil {
		return nil // cannot happen: the file is embedded
	}
	return []wanted{{client: client, part: Skill, path: filepath.Join(dir, "handoff", "SKILL.md"), own: b}}
}

// tree returns the files of our own directory.
func (r *Request) tree(client string, files fs.FS, root, to string, without ...string) ([]wanted, error) {
	var all []wanted
	err := fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		switch {
		case err != nil:
			return err
		case slices.Contains(without, rel) && d.IsDir():
			return fs.SkipDir
		case slices.Contains(without, rel) || d.IsDir():
			return nil
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		part := Hooks
		if path.Dir(path.Dir(rel)) == "skills" {
			part = Skill
		}
		all = append(all, wanted{client: client, part: part, path: filepath.Join(to, filepath.FromSlash(rel)), own: r.named(b)})
		return nil
	})
	return all, err
}

// whole returns one file of our own.
func (r *Request) whole(client, to, name string) (wanted, error) {
	b, err := extensions.Files.ReadFile(name)
	return wanted{client: client, part: Hooks, path: to, own: r.named(b)}, err
}

// shared returns a file that may have hooks of others as well.
func (r *Request) shared(client, to string, files fs.FS, name string) (wanted, error) {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		return wanted{}, err
	}
	b = r.named(b)
	var doc struct {
		Version int                          `json:"version"`
		Hooks   map[string][]json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return wanted{}, err
	}
	w := wanted{client: client, part: Hooks, path: to, fresh: []byte("{}\n")}
	if doc.Version != 0 {
		w.fresh = []byte("{\n  \"version\": " + strconv.Itoa(doc.Version) + "\n}\n")
	}
	for _, event := range slices.Sorted(maps.Keys(doc.Hooks)) {
		for _, value := range doc.Hooks[event] {
			w.entries = append(w.entries, entry{
				list: []string{"hooks", event}, value: value, mark: " hook agent " + client + " " + event,
			})
		}
	}
	return w, nil
}

// byName is how the files in the tree start githandoff: people share them who have it in different
// places, or not at all.
const byName = "command -v githandoff >/dev/null 2>&1 || exit 0; exec githandoff "

// start returns how a hook of this request starts githandoff.
func (r *Request) start() string {
	if r.Project || r.Binary == "" {
		return byName
	}
	program := fault.Arg(r.Binary)
	return "[ -x " + program + " ] || exit 0; exec " + program + " "
}

// named puts the path of this program into files read only by this user: a client may start with
// another PATH than a shell.
func (r *Request) named(b []byte) []byte {
	if r.Project || r.Binary == "" {
		return b
	}
	s := strings.ReplaceAll(string(b), byName, strings.Trim(quoted(r.start()), `"`))
	return []byte(strings.Replace(s, `const program = "githandoff"`, "const program = "+quoted(r.Binary), 1))
}

// quoted writes a text as a string of JSON, which is also one of TOML and of JavaScript.
func quoted(s string) string {
	b, _ := json.Marshal(s) // every string has a JSON form
	return string(b)
}
