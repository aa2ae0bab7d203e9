package crossrepo

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/refs"
)

// refNames translates the names of refs between this clone and one hub. Names below the hub's root
// are those of the format, as are names below the namespaces of this clone. No record names a
// ref: nothing signed depends on the root.
type refNames struct {
	copies, mirror refs.Namespace // in this clone
	root           string         // at the hub; ends in "/"
	notes          string         // at the hub
}

// namesAt returns the names at the hub behind an alias. The namespaces are hashes of its id.
func namesAt(a *Alias) refNames {
	return refNames{
		copies: refs.TrackingNamespace(a.RepoID), mirror: refs.MirrorNamespace(a.RepoID),
		root: a.Root(), notes: refs.At(a.Prefix, refs.NotesRef),
	}
}

// Namespace implements lifecycle.Home: it is where the copies of the hub's refs stand.
func (n refNames) Namespace() refs.Namespace { return n.copies }

// Mirror returns where the lanes of the hub stand as it showed them last.
func (n refNames) Mirror() refs.Namespace { return n.mirror }

// NotesCopy returns the ref under which the copy of the hub's notes stands.
func (n refNames) NotesCopy() string { return string(n.copies) + refs.NotesBelow }

// RemoteName returns the hub's own name of a ref: of its copy, of its mirror, or of the ref as the
// format names it. The result is always below the root, or the notes.
func (n refNames) RemoteName(local string) string {
	if local == refs.NotesRef || local == string(n.copies)+refs.NotesBelow {
		return n.notes
	}
	for _, namespace := range []refs.Namespace{n.copies, n.mirror, refs.LocalNamespace} {
		if rest, ok := strings.CutPrefix(local, string(namespace)); ok {
			return n.root + rest
		}
	}
	return n.root + local
}

// here returns the name of the copy of a hub's ref; not ok if the ref is none of ours there.
func (n refNames) here(there string) (local string, ok bool) {
	if there == n.notes {
		return n.NotesCopy(), true
	}
	rest, ok := strings.CutPrefix(there, n.root)
	return string(n.copies) + rest, ok && rest != "" && rest != refs.NotesBelow
}

// relative returns the name of a copy below its namespace.
func (n refNames) relative(ref string) string { return strings.TrimPrefix(ref, string(n.copies)) }

// mirrored returns the name in the mirror of a copy.
func (n refNames) mirrored(ref string) string {
	return string(n.mirror) + strings.TrimPrefix(ref, string(n.copies))
}

// Root returns the prefix of the refs of handoffs at a hub. It ends in "/".
func (a *Alias) Root() string { return refs.At(a.Prefix, refs.Root) }

// Below returns Root without the "/": the prefix of the alias, or the usual one.
func (a *Alias) Below() string { return strings.TrimSuffix(a.Root(), "/") }

// HubPrefix returns the prefix below which the clients of a guarded hub, repo, keep handoffs; ""
// if it has no setting for it.
func HubPrefix(repo *refs.Repo) (string, error) {
	values := repo.Config[gitconfig.HubPrefix]
	if len(values) == 0 {
		return "", nil
	}
	last := values[len(values)-1]
	return last, CheckPrefix(last)
}

// CheckPrefix refuses a prefix unfit for handoffs: one that is no ref name, has fewer than
// three parts, or belongs to something else.
func CheckPrefix(prefix string) error {
	bad := func(why string) error {
		return fault.New(fault.Usage, fault.BadUsage, "%s cannot be the prefix of handoffs: %s", Quote(prefix), why).
			WithHints(fault.Fact("where a host takes only branches, the prefix is refs/heads/handoffs"))
	}
	part := strings.Split(prefix, "/")
	switch {
	case len(prefix) > maxPrefix:
		return bad("it is too long")
	case len(part) < 3 || part[0] != "refs":
		return bad("it is not of the form refs/heads/NAME")
	case part[1] == "handoffs" || part[1] == "notes" || part[1] == "tags" || part[1] == "remotes":
		return bad("refs/" + part[1] + " has another use")
	}
	for _, p := range part {
		if !partName(p) {
			return bad("its parts are made of a-z, 0-9, \"-\", \"_\" and single dots, and begin with a letter or digit")
		}
	}
	return nil
}

// maxPrefix is the length of a prefix in bytes. Names below it must fit the file systems of
// servers.
const maxPrefix = 100

// partName reports whether every file system and server keeps one part of a prefix as it is.
func partName(p string) bool {
	if p == "" || strings.HasSuffix(p, ".lock") || strings.HasSuffix(p, ".") || strings.Contains(p, "..") {
		return false
	}
	for i, c := range p {
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}

// File makes the objects of a file to publish at a hub in the place of another object, "" for
// none. The ref leads to the last one: the blob, or, at a hub with a prefix, the commit
// carrying it.
func File(h *Hub, body []byte, before string) []*refs.Object {
	blob := refs.NewObject(h.Repo.Format, "blob", body)
	if h.Alias.Prefix == "" {
		return []*refs.Object{blob}
	}
	return append([]*refs.Object{blob}, refs.Carrier(blob.OID, before)...)
}
