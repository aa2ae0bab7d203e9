package refs

// Suppose lets reads of refs answer as they would once edits were made, while
// nothing has moved yet: for a hook that may still refuse them. Objects that
// they bring must be readable already. It is for a repository that serves one
// such question, and is called before it is read by several at once.
func (r *Repo) Suppose(edits []Edit) {
	r.supposed = make(map[string]string, len(edits))
	for _, e := range edits {
		r.supposed[e.Ref] = e.New
	}
}

// suppose returns what to ask git for in the place of a name; "" says that it
// leads nowhere.
func (r *Repo) suppose(name string) string {
	if oid, ok := r.supposed[name]; ok {
		return oid
	}
	return name
}
