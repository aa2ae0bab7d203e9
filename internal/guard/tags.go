package guard

import (
	"bytes"
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

// maxNested bounds the tags of tags in one push.
const maxNested = 16

// signedTags returns the annotated tags signed by a key of an agent, by the ids of the objects
// under the refs. A tag that is too long to be read here is refused.
func (cj *codeJudge) signedTags(ctx context.Context, edits []refs.Edit) (map[string][]signedBy, error) {
	found, seen := map[string][]signedBy{}, map[string]bool{}
	for _, e := range edits {
		if e.New == "" || seen[e.New] || strings.HasPrefix(cj.names.space+e.Ref, "refs/heads/") {
			continue // git refuses a branch that leads to a tag, but not in a namespace
		}
		seen[e.New] = true
		list, err := cj.tagsBelow(ctx, e.New)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			found[e.New] = list
		}
	}
	return found, nil
}

// tagsBelow judges a tag and any tags below it, as far as they are new to the hub, because each of
// them can be verified by its id.
func (cj *codeJudge) tagsBelow(ctx context.Context, oid string) ([]signedBy, error) {
	var list []signedBy
	for depth := 0; oid != ""; depth++ {
		if depth > 0 {
			if known, err := cj.knownTag(ctx, oid); known || err != nil {
				return list, err
			}
		}
		if depth == maxNested {
			return nil, denied(fault.TooLarge, "a chain of more than %d tags", maxNested)
		}
		o, err := cj.Verifier.Repo.Read(ctx, oid, maxCode)
		if fault.Is(err, fault.TooLarge) && !cj.isTag(ctx, oid) || err == nil && (o == nil || o.Type != "tag") {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		one, ok, err := cj.signed(ctx, oid)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, one)
		}
		oid = taggedTag(o.Body)
	}
	return list, nil
}

// taggedTag returns the tag under a raw tag; "" if the tag is one of something else.
func taggedTag(raw []byte) string {
	first, rest, _ := bytes.Cut(raw, []byte("\n"))
	kind, _, _ := bytes.Cut(rest, []byte("\n"))
	oid, ok := bytes.CutPrefix(first, []byte("object "))
	if !ok || string(kind) != "type tag" || !gitobj.IsID(string(oid)) {
		return ""
	}
	return string(oid)
}

// knownTag reports whether a ref of the hub led to a tag before this push.
func (cj *codeJudge) knownTag(ctx context.Context, oid string) (bool, error) {
	out, err := cj.Verifier.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args: append([]string{"rev-list", "--objects", "--no-walk", "--filter=object:type=tag", oid}, atHub(cj.names)...),
	})
	return err == nil && !bytes.Contains(out, []byte(oid)), err
}

// isTag reports whether an object too large to be read is a tag, or may be one.
func (cj *codeJudge) isTag(ctx context.Context, oid string) bool {
	kind, err := cj.Verifier.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"cat-file", "-t", oid}})
	return err != nil || strings.TrimSpace(string(kind)) == "tag"
}
