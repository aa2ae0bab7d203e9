package crossrepo

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

var defaultPort = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// RepoID derives the repo id of a URL. Relative paths are taken from base.
func RepoID(raw, base string) (string, error) {
	if raw == "" || raw[0] == '-' || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errBadURL(raw, "it is empty, begins with \"-\" or holds control characters")
	}
	if strings.Contains(raw, "::") && !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") {
		return "", errBadURL(raw, "remote helpers are not used")
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case ok && scheme == "file":
		return FileID(decoded(rest)), nil // git decodes the path as well
	case ok:
		return hostID(raw, scheme)
	}
	// host:path, unless a slash comes before the colon: then it is a path.
	if colon := strings.IndexByte(raw, ':'); colon >= 0 && !strings.Contains(raw[:colon], "/") {
		host := raw[:colon]
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
		if strings.HasPrefix(host, "-") || host == "" {
			return "", errBadURL(raw, "no host")
		}
		// One spelling with ssh://host/path, in which git decodes the path.
		path := (&url.URL{Path: raw[colon+1:]}).EscapedPath()
		return "git+https://" + asciiHost(host) + "/" + tidy(path), nil
	}
	if !filepath.IsAbs(raw) {
		raw = filepath.Join(base, raw)
	}
	return FileID(raw), nil
}

func hostID(raw, scheme string) (string, error) {
	port, known := defaultPort[scheme]
	if !known {
		return "", errBadURL(raw, "its scheme is none of file, git, http, https, ssh")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
		return "", errBadURL(raw, "it has no host")
	}
	host := asciiHost(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != port {
		host += ":" + p
	}
	return "git+https://" + host + "/" + tidy(u.EscapedPath()), nil
}

// FileID returns the repo id of the repository at an absolute path. A byte outside printable ASCII
// is written as "%" and two hex digits, and so is a "%" before two hex digits: no two paths
// share an id.
func FileID(path string) string {
	path = strings.TrimSuffix(filepath.Clean("/"+path), "/.git")
	return fileScheme + encoded(cmp.Or(path, "/"))
}

// fileScheme begins the id of a repository at a path.
const fileScheme = "git+file://"

// filePath returns the path of the repository with an id made by FileID.
func filePath(repoID string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(repoID, fileScheme)
	return decoded(rest), ok
}

func encoded(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c < ' ' || c > '~' || c == '%' && i+2 < len(path) && isHexByte(path[i+1:i+3]) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// decoded undoes encoded. A "%" without two hex digits after it stays.
func decoded(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && isHexByte(path[i+1:i+3]) {
			n, _ := strconv.ParseUint(path[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		} else {
			b.WriteByte(path[i])
		}
	}
	return b.String()
}

func isHexByte(s string) bool {
	_, err := strconv.ParseUint(s, 16, 8)
	return err == nil
}

// asciiHost returns a host name in lower case. A name outside ASCII is written by its bytes, like a
// path: nothing here asks the DNS. A name that is not UTF-8 keeps its case, because ToLower would
// replace its bytes, and two hosts would share an id.
func asciiHost(host string) string {
	if utf8.ValidString(host) {
		host = strings.ToLower(host)
	}
	return encoded(host)
}

func tidy(path string) string {
	return strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

func errBadURL(raw, why string) error {
	return fault.New(fault.Usage, fault.BadURL, "%s cannot be a repository: %s", Quote(URL(raw).String()), why).
		WithHints(fault.Fact("a repository is a path, or a URL of scheme file, git, http, https or ssh"))
}

// IDs lists the ids of the repository, its own first.
func (a *Alias) IDs() []string { return append([]string{a.RepoID}, a.Also...) }

// Is reports whether a repo id is one of the names of this repository.
func (a *Alias) Is(repoID string) bool {
	return repoID == a.RepoID || slices.Contains(a.Also, repoID)
}

// pinned returns an alias with the ids pinned for it, and nothing else. RepoID is "" if there are none.
func (as Aliases) pinned(name string) *Alias {
	return &Alias{Name: name, RepoID: as.Repo.Config.Get("handoffrepo." + name + ".id"), Also: as.Repo.Config["handoffrepo."+name+".alsoid"]}
}

// errOtherRepo returns the refusal of an alias whose URL leads to another id than the pinned one.
func errOtherRepo(a *Alias) error {
	return fault.New(fault.Denied, fault.AudienceMismatch, "%s was pinned as %s and now is %s", a.Name, a.RepoID, a.derived).
		WithHints(fault.Run("githandoff", "repo", "add", a.Name, a.URL.Bare(), "--id", a.RepoID).Because("if it is the same repository under another name"),
			fault.Run("githandoff", "repo", "add", a.Name, a.URL.Bare()).Because("if it is another repository, and no open handoff of the first one matters"))
}

// WrongHome implements lifecycle.RemoteHome. If this clone knows that home by another alias, the
// records here are copies. Otherwise only a person knows whether both names mean this hub. No command
// to paste is given, because anybody with push access can copy the records of another hub.
func (h *remote) WrongHome(repoID string) []fault.Hint {
	if other := (Aliases{Repo: h.Repo}).aliasOf(repoID, h.Alias.Name); other != "" {
		return []fault.Hint{fault.Run("githandoff", "sync", other).
			Because("reads that home; records of it at %s are copies", h.Alias.Name)}
	}
	return []fault.Hint{fault.See("repo add").
		Because("--id declares a former name, if the owner of %s says that %s is one", h.Alias.Name, untrusted.Place(repoID))}
}

// AddAs names a repository with other ids than that of its URL: it was renamed, moved or
// mirrored, or others reach it by another name. New records name it by the first id, but not by
// the id it has as its own home: others reach it by its URL. The hub must have every lane of
// these ids remembered by this clone. AddAs returns the number of lanes of other ids compared:
// what this clone fetched under the id of the URL proves nothing.
func (as Aliases) AddAs(ctx context.Context, name, url string, ids []string) (*Alias, int, error) {
	derived, err := RepoID(url, as.base())
	if err != nil {
		return nil, 0, err
	}
	var first, own []string // ids under which others reach the hub, and ids that it has as its own home
	for _, id := range ids {
		local := strings.HasPrefix(id, "local:")
		if local {
			own = append(own, id)
		} else {
			first = append(first, id)
		}
		if err := handoff.CheckRepoID(id); err != nil || local && id == as.Repo.Config.Get("handoff.repoid") {
			return nil, 0, fault.New(fault.Usage, fault.BadURL, "%s is not the id of a hub", Quote(id)).
				WithHints(fault.Run("githandoff", "repo", "list").Because("shows ids in their second column"))
		}
	}
	all := slices.Concat(first, []string{derived}, own)
	if known := as.pinned(name); slices.Contains(all, known.RepoID) { // otherwise the alias named another repository
		all = append(all, known.IDs()...)
	}
	if err := as.free(name, all...); err != nil {
		return nil, 0, err
	}
	if err := settle(ctx, as, name); err != nil {
		return nil, 0, err
	}
	a, placed, err := as.place(name, url)
	if err != nil {
		return nil, 0, err
	}
	a.RepoID, a.Also = all[0], unique(all[1:], all[0])
	hub := NewHub(a, as.Repo, nil)
	compared, err := remembers(ctx, hub, all)
	if err != nil {
		return nil, 0, err
	}
	fetched := refs.TrackingNamespace(derived).Lanes()
	compared = slices.DeleteFunc(compared, func(lane refs.Ref) bool { return strings.HasPrefix(lane.Name, fetched) })
	if err := gather(ctx, hub, a.Also); err != nil {
		return nil, 0, err
	}
	if err := keep(ctx, as, a, placed); err != nil {
		return nil, 0, err
	}
	return a, len(compared), pinOthers(ctx, as, a)
}

// unique returns a list without repetitions, and without one entry.
func unique(list []string, but string) []string {
	var out []string
	for _, s := range list {
		if s != but && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// free refuses ids of another alias: one repository has one alias here. A remote whose name no target
// can have does not count.
func (as Aliases) free(name string, ids ...string) error {
	others := slices.DeleteFunc(as.Names(), func(other string) bool { return other == name || handoff.CheckAlias(other) != nil })
	for _, id := range ids {
		if i := slices.IndexFunc(others, func(other string) bool { return as.pinned(other).Is(id) }); i >= 0 {
			other := others[i]
			hints := []fault.Hint{fault.Run("githandoff", "repo", "list").Because("shows it; %s is the name to use", other)}
			if !IsRemote(as.Repo.Config, other) {
				hints = append(hints, fault.Run("githandoff", "repo", "remove", other).Because("forgets that name"))
			}
			return fault.New(fault.Usage, fault.RepoKnown, "%s is already named %s here", id, other).WithHints(hints...)
		}
	}
	return nil
}

// NameOf returns the alias for which an id is pinned; "" if there is none.
func (as Aliases) NameOf(id string) string { return as.aliasOf(id, "") }

// aliasOf returns the alias, other than but, for which an id is pinned; "" if there is none.
func (as Aliases) aliasOf(id, but string) string {
	for _, name := range as.Names() {
		if name != but && as.pinned(name).Is(id) {
			return name
		}
	}
	return ""
}

// remembers compares this clone's copies of the logs of some ids with the hub's lanes. A lane
// lost by the hub, or not descending from the copy, is refused.
func remembers(ctx context.Context, h *Hub, ids []string) (known []refs.Ref, err error) {
	known, err = copiesOf(ctx, h.Repo, ids)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	there, err := h.RemoteLanes(ctx)
	if err != nil {
		return nil, err
	}
	return known, contains(ctx, h, known, there)
}

// copiesOf returns this clone's copies of the lanes of some ids.
func copiesOf(ctx context.Context, repo *refs.Repo, ids []string) ([]refs.Ref, error) {
	var known []refs.Ref
	for _, id := range unique(ids, "") {
		list, err := repo.List(ctx, refs.TrackingNamespace(id).Lanes())
		if err != nil {
			return nil, err
		}
		known = append(known, list...)
	}
	return known, nil
}

// contains refuses a hub whose lanes lack entries of some copies.
func contains(ctx context.Context, h *Hub, known []refs.Ref, there map[string]string) error {
	named := make([]refs.Ref, len(known)) // the copies, renamed to those of this hub
	for i, lane := range known {
		named[i] = refs.Ref{Name: h.Namespace().Lanes() + lane.Name[strings.LastIndexByte(lane.Name, '/')+1:], OID: lane.OID}
	}
	all := h.bothTips(named, there)
	if err := fetchNew(ctx, h, all); err != nil {
		return err
	}
	var lacking []laneTips
	absent := 0
	for _, lane := range all {
		if ok, err := h.extends(ctx, lane.now, lane.was); err != nil {
			return err
		} else if ok {
			continue
		}
		if lane.now == "" {
			absent++
		} else if behind, err := h.extends(ctx, lane.was, lane.now); err != nil {
			return err
		} else if !behind {
			return errForked(h, lane)
		}
		lacking = append(lacking, lane)
	}
	if len(lacking) == 0 {
		return nil
	}
	older := errOlder(h, lacking[0])
	if absent < len(all) && len(lacking) <= maxAdded { // the hub has a part of the same log
		return older.WithHints(addLanes(h, lacking))
	}
	if len(there) == 0 {
		return older.WithHints(fault.Fact("it has no handoffs: if it is a copy of the hub, %s/* of the former one must be copied there as well", h.Alias.Below()))
	}
	return older
}

// errForked refuses a hub whose lane has another history than this clone has seen. Only a forced
// push could change that, and nobody should make one.
func errForked(h *Hub, lane laneTips) *fault.Error {
	return fault.New(fault.Denied, fault.Rollback, "%s has another history of %s than this clone has seen: it is another repository, or work went on under both names",
		h.Alias.URL, h.RemoteName(lane.name)).
		WithHints(fault.Fact("a new clone of %s works with its history; what this clone alone has sent must be sent again there", h.Alias.URL.Bare()))
}

func errOlder(h *Hub, lane laneTips) *fault.Error {
	return fault.New(fault.Denied, fault.Rollback, "%s is another repository or an older copy: it lacks %s of the log that this clone has seen",
		h.Alias.URL, h.RemoteName(lane.name)).
		WithHints(fault.Fact("a lagging mirror or a restored copy must catch up first"))
}

// maxAdded limits the lanes in one command.
const maxAdded = 16

// addLanes returns the command that adds lanes, or the rest of them, to a hub that has a part of
// the log. After a rename, some servers take offers under the former name, in a repository of their
// own.
func addLanes(h *Hub, lacking []laneTips) fault.Hint {
	args := []string{"git", "push", "--", h.Alias.URL.Bare()}
	for _, lane := range lacking {
		args = append(args, lane.was+":"+h.RemoteName(lane.name))
	}
	return fault.Run(args...).Because("adds it, if this is the same repository under another name")
}

// gather moves the copies under other ids of the hub to its namespace. The hub was found to have
// all of them. If two copies of a ref differ, the descendant is kept.
func gather(ctx context.Context, h *Hub, others []string) error {
	var edits []refs.Edit
	for _, id := range others {
		from := refs.TrackingNamespace(id)
		if from == h.Namespace() {
			continue
		}
		list, err := h.Repo.List(ctx, strings.TrimSuffix(string(from), "/"))
		if err != nil {
			return err
		}
		for _, ref := range list {
			to := string(h.Namespace()) + strings.TrimPrefix(ref.Name, string(from))
			now, err := h.Repo.Resolve(ctx, to)
			if err != nil {
				return err
			}
			newest := now
			taken := slices.IndexFunc(edits, func(e refs.Edit) bool { return e.Ref == to })
			if taken >= 0 {
				newest = edits[taken].New
			}
			newer, err := h.extends(ctx, ref.OID, newest)
			switch {
			case err != nil:
				return err
			case newer && taken >= 0:
				edits[taken].New = ref.OID
			case newer && ref.OID != now:
				edits = append(edits, refs.Edit{Ref: to, Old: now, New: ref.OID})
			}
			edits = append(edits, refs.Edit{Ref: ref.Name, Old: ref.OID})
		}
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
}

// pinAlso replaces the further ids of an alias.
func (as Aliases) pinAlso(ctx context.Context, a *Alias) error {
	key := "handoffrepo." + a.Name + ".alsoid"
	if slices.Equal(as.pinned(a.Name).Also, a.Also) {
		return nil
	}
	settings := gitconfig.Of(as.Repo)
	if err := settings.Unset(ctx, key); err != nil {
		return err
	}
	for _, id := range a.Also {
		if err := settings.Add(ctx, key, id); err != nil {
			return err
		}
	}
	return nil
}

// fetchNew fetches the tips of the hub's lanes missing here, and moves no ref: without them
// nobody can tell who is ahead.
func fetchNew(ctx context.Context, h *Hub, all []laneTips) error {
	var unknown []string
	for _, lane := range all {
		if lane.now == "" || lane.now == lane.was {
			continue
		}
		o, err := h.Repo.Read(ctx, lane.now, record.MaxCommit)
		if err != nil {
			return err
		}
		if o == nil {
			unknown = append(unknown, h.RemoteName(lane.name))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	_, err := h.connect(ctx, gitexec.Cmd{
		Args: slices.Concat(fetchArgs, []string{"--no-prune", "--", h.Alias.target}, unknown), Timeout: gitexec.RemoteTimeout,
	})
	return h.errUnreachable(err)
}
