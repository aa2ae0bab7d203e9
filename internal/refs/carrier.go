package refs

import (
	"context"

	"githandoff/internal/gitobj"
)

// A branch leads to a commit. So where handoffs are branches, a published key or an invitation,
// which is a file, comes in a commit.
const carrierFile = "published"

// Carrier makes the commit of a published blob on top of parent, a commit or "". The commit is
// the last of the objects.
func Carrier(blob, parent string) []*Object {
	raw, err := gitobj.EncodeTree([]gitobj.TreeEntry{{Mode: gitobj.File, Name: carrierFile, OID: blob}})
	if err != nil {
		panic(err) // impossible: blob is an object id
	}
	tree := NewObject(gitobj.FormatOf(blob), "tree", raw)
	return []*Object{tree, OwnCommit(tree.OID, parent, carrierFile)}
}

// OwnCommit makes the commit of [gitobj.OwnCommit].
func OwnCommit(tree, parent, message string) *Object {
	return NewObject(gitobj.FormatOf(tree), "commit", gitobj.OwnCommit(tree, parent, message))
}

// Carried reads the file of a ref, which leads to the file or to its [Carrier] commit. It is
// nil if there is none. Tip is the object the ref leads to.
func Carried(ctx context.Context, r *Repo, name string, limit int64) (o *Object, tip string, err error) {
	if o, err = r.Read(ctx, name, limit); err != nil || o == nil {
		return nil, "", err
	}
	tree := ""
	if o.Type == "commit" {
		tree = gitobj.Tree(o.Body)
	}
	if tree == "" {
		return o, o.OID, nil
	}
	dir, err := ReadNamed(ctx, r, tree, limit, "object "+tree)
	if err != nil {
		return nil, "", err
	}
	entries, _ := r.Format.ParseTree(dir.Body) // a tree that cannot be parsed carries nothing
	for _, e := range entries {
		if e.Name == carrierFile && e.Mode == gitobj.File {
			file, err := ReadNamed(ctx, r, e.OID, limit, "object "+e.OID)
			return file, o.OID, err
		}
	}
	return o, o.OID, nil
}
