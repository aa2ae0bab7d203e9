package crossrepo

import (
	"strings"

	"githandoff/internal/refs"
)

// refNames translates the names of refs between this clone and one hub. Names below the hub's root
// are those of the format, as are names below the namespaces of this clone. No record names a
// ref: nothing signed depends on the root.
type refNames struct {
	copies refs.Namespace // copies of the hub's refs, in this clone
	Mirror refs.Namespace // lanes of the hub as it showed them last, in this clone
	root   string         // prefix of refs at the hub, with a trailing "/"
	notes  string         // ref of the notes at the hub
}

// namesAt returns the names at the hub behind an alias. The namespaces are hashes of its id.
func namesAt(a *Alias) refNames {
	return refNames{
		copies: refs.TrackingNamespace(a.RepoID), Mirror: refs.MirrorNamespace(a.RepoID),
		root: a.Root(), notes: refs.At(a.Prefix, refs.NotesRef),
	}
}

// Namespace implements lifecycle.Home: it is where the copies of the hub's refs stand.
func (n refNames) Namespace() refs.Namespace { return n.copies }

// NotesCopy returns the ref under which the copy of the hub's notes stands.
func (n refNames) NotesCopy() string { return string(n.copies) + refs.NotesBelow }

// RemoteName returns the hub's own name of a ref: of its copy, of its mirror, or of the ref as the
// format names it. The result is always below the root, or the notes.
func (n refNames) RemoteName(local string) string {
	if local == refs.NotesRef || local == string(n.copies)+refs.NotesBelow {
		return n.notes
	}
	for _, namespace := range []refs.Namespace{n.copies, n.Mirror, refs.LocalNamespace} {
		if rest, ok := strings.CutPrefix(local, string(namespace)); ok {
			return n.root + rest
		}
	}
	return n.root + local
}

// here returns the name of the copy of a hub's ref. It is not ok if the ref is not one of handoffs.
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
	return string(n.Mirror) + strings.TrimPrefix(ref, string(n.copies))
}

// Root returns the prefix of the refs of handoffs at a hub. It ends in "/".
func (a *Alias) Root() string { return refs.At(a.Prefix, refs.Root) }

// Below returns Root without the "/": the prefix of the alias, or the usual one.
func (a *Alias) Below() string { return strings.TrimSuffix(a.Root(), "/") }
