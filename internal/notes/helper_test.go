package notes

import "context"

// read is ReadIn in the tree of a notes commit.
func read(ctx context.Context, r Reader, tip, target string) ([]string, error) {
	root, err := Root(ctx, r, tip)
	if err != nil {
		return nil, err
	}
	return ReadIn(ctx, r, root, target)
}

// add is AddTo for one commit, in the tree of a notes commit.
func add(ctx context.Context, r Reader, w Writer, tip, target string, lines []string) (tree string, changed bool, err error) {
	return addAll(ctx, r, w, tip, map[string][]string{target: lines})
}

// addAll is AddTo in the tree of a notes commit.
func addAll(ctx context.Context, r Reader, w Writer, tip string, lines map[string][]string) (tree string, changed bool, err error) {
	root, err := Root(ctx, r, tip)
	if err != nil {
		return "", false, err
	}
	tree, err = AddTo(ctx, r, w, root, lines)
	return tree, err == nil && tree != root, err
}
