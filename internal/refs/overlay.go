package refs

// Overlay lets reads of refs answer as they would once edits were made, while
// nothing has moved yet: for a hook that may still refuse them. Objects that
// they bring must be readable already. It is for a repository that serves one
// such question, and is called before it is read by several at once.
func (r *Repo) Overlay(edits []Edit) {
	r.overlay = make(map[string]string, len(edits))
	for _, e := range edits {
		r.overlay[e.Ref] = e.New
	}
}

// overlaid returns what to ask git for in the place of a name; "" says that it
// leads nowhere.
func (r *Repo) overlaid(name string) string {
	if oid, ok := r.overlay[name]; ok {
		return oid
	}
	return name
}
