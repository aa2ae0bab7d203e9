package guard

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// names translates between the names of the format and those of a hub with handoffs below a
// prefix. The rules of the guard see only the former.
type names struct {
	prefix string // prefix without a trailing "/"; empty if refs have the names of the format
}

// KeepBelow sets up the guard for a hub with handoffs below a prefix.
func (g *Guard) KeepBelow(prefix string) {
	g.names = names{prefix}
	g.Verifier.Repo.NameOf = g.names.there
}

// there returns the hub's name of a ref of the format.
func (n names) there(ref string) string { return refs.At(n.prefix, ref) }

// here gives a pushed ref its name in the format. It refuses names that clones with the prefix do
// not use: those of the format itself, and those that are in the way of the prefix.
func (n names) here(e refs.Edit) (refs.Edit, error) {
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
	case strings.HasPrefix(lower, refs.Root) || isNotes(e.Ref):
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
		if err := v.note(e.Ref, err); err != nil {
			return nil, err
		}
		list = append(list, named)
	}
	return list, nil
}
