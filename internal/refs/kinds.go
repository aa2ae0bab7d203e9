package refs

import "context"

// Kind is the type and size of an object. A missing object has no type.
type Kind struct {
	Type string // "blob", "tree", "commit", "tag"
	Size int64  // bytes
}

// Kinds looks at objects by their full ids without reading them. It costs one
// process, however many there are.
func Kinds(ctx context.Context, r *Repo, oids []string) ([]Kind, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	found, err := sizes(ctx, r, oids)
	if err != nil {
		return nil, err
	}
	kinds := make([]Kind, len(found))
	for i, a := range found {
		kinds[i] = Kind{a.kind, a.size}
	}
	return kinds, nil
}
