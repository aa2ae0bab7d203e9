package guard

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// spaces is where git keeps the refs of its namespaces.
const spaces = "refs/namespaces/"

// replacements are refs by which git reads one object in place of another, also where it checks a push (git-replace(1)).
const replacements = "refs/replace/"

// names translates between the names of the format and those of a hub with handoffs below a
// prefix. The rules of the guard see only the former.
type names struct {
	prefix string // prefix without a trailing "/"; empty if refs have the names of the format
	space  string // what git puts before each name of a push in a namespace, with a trailing "/"
}

// KeepBelow sets up the guard for a hub with handoffs below a prefix.
func (g *Guard) KeepBelow(prefix string) {
	g.names.prefix = prefix
	g.Verifier.Repo.NameOf = g.names.stored
}

// Within sets up the guard for a push in a namespace of git (GIT_NAMESPACE): git gives a hook the
// names that the pusher sees, and keeps the refs below refs/namespaces. See gitnamespaces(7).
func (g *Guard) Within(namespace string) {
	for part := range strings.SplitSeq(namespace, "/") {
		if part != "" {
			g.names.space += spaces + part + "/"
		}
	}
	g.Verifier.Repo.NameOf = g.names.stored
}

// stored returns the name by which the hub's repository keeps a ref of the format. An object id
// stays as it is.
func (n names) stored(name string) string {
	if !strings.HasPrefix(name, "refs/") {
		return name
	}
	return n.space + n.there(name)
}

// there returns the hub's name of a ref of the format.
func (n names) there(ref string) string { return refs.At(n.prefix, ref) }

// inSpace returns the name that a ref has in the namespace where it is kept; ok is false if that is
// the one to which the push goes.
func inSpace(ref string) (name string, ok bool) {
	for len(ref) > len(spaces) && strings.EqualFold(ref[:len(spaces)], spaces) {
		_, ref, _ = strings.Cut(ref[len(spaces):], "/")
		ok = true
	}
	return ref, ok
}

// here gives a pushed ref its name in the format. It refuses names that clones with the prefix do
// not use: those of the format itself, and those that are in the way of the prefix. It also refuses
// to move handoffs of a namespace from outside, where the guard does not read the refs of that one.
func (n names) here(e refs.Edit) (refs.Edit, error) {
	if name, ok := inSpace(e.Ref); ok {
		inside, err := n.here(refs.Edit{Ref: name, New: e.New})
		if err == nil && (isOwn(inside.Ref) || isNotes(inside.Ref)) {
			err = denied(fault.InvalidPath, "handoffs of a namespace come in by a push to that namespace")
		}
		return e, err
	}
	if n.prefix == "" {
		return e, nil
	}
	if rest, ok := strings.CutPrefix(e.Ref, n.prefix+"/"); ok {
		e.Ref = refs.Root + rest
		if below, ok := strings.CutPrefix(rest, refs.NotesBelow); ok && (below == "" || below[0] == '/') {
			e.Ref = refs.NotesRef + below
		}
		return e, nil
	}
	lower := strings.ToLower(e.Ref) + "/" // prefixes are lower case
	switch {
	case isOwn(e.Ref) || isNotes(e.Ref):
		return e, denied(fault.InvalidPath, "this hub keeps handoffs below %s", n.prefix)
	case strings.HasPrefix(lower, n.prefix+"/"), e.New != "" && strings.HasPrefix(n.prefix+"/", lower):
		return e, denied(fault.InvalidPath, "it stands in the way of the handoffs below %s", n.prefix)
	}
	return e, nil
}

// allHere gives the refs of a push their names in the format, and notes refusals.
func (n names) allHere(edits []refs.Edit, v *verdict) ([]refs.Edit, error) {
	var list []refs.Edit
	for _, e := range edits {
		named, err := n.here(e)
		if err == nil && e.New != "" && n.space == "" && strings.HasPrefix(strings.ToLower(e.Ref), replacements) {
			err = denied(fault.InvalidPath, "git here would read another object in place of the one named, and could take no push any more")
		}
		if err := v.note(e.Ref, err); err != nil {
			return nil, err
		}
		list = append(list, named)
	}
	return list, nil
}
