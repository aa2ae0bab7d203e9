package refs

import (
	"context"
	"encoding/hex"
	"fmt"
)

// A branch leads to a commit. So where handoffs are branches, a published key or an
// invitation, which is a file, comes in a commit that carries it.
const (
	carrierFile = "published"
	carrierWho  = "githandoff <githandoff@localhost> 0 +0000"
)

// Carrier makes the commit that carries a blob on top of the commit before it, "" for none.
// The commit is the last of the objects.
func Carrier(blob, parent string) []*Object {
	raw, err := hex.DecodeString(blob)
	if err != nil {
		panic(err) // it is the id of an object
	}
	tree := NewObject("tree", append([]byte("100644 "+carrierFile+"\x00"), raw...))
	on := ""
	if parent != "" {
		on = "parent " + parent + "\n"
	}
	body := fmt.Sprintf("tree %s\n%sauthor %s\ncommitter %s\n\n%s\n", tree.OID, on, carrierWho, carrierWho, carrierFile)
	return []*Object{tree, NewObject("commit", []byte(body))}
}

// Carried reads the file that a ref leads to, by itself or in the commit that carries it.
// Nil if there is none. Tip is the object that the ref leads to.
func Carried(ctx context.Context, r *Repo, name string, limit int64) (o *Object, tip string, err error) {
	if o, err = r.Read(ctx, name, limit); err != nil || o == nil {
		return nil, "", err
	}
	tip = o.OID
	if o.Type != "commit" {
		return o, tip, nil
	}
	file, err := r.Read(ctx, tip+":"+carrierFile, limit)
	if err != nil {
		return nil, "", err
	}
	if file == nil { // it carries nothing
		return o, tip, nil
	}
	return file, tip, nil
}
