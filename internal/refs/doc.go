// Package refs is the one place where a repository is read and where a ref
// moves.
//
// It knows the names under refs/handoffs ([Namespace]), opens a repository of any
// kind ([Open]), reads objects and refs by name through one "git cat-file
// --batch", writes objects in process, and applies a [Transaction] to this
// repository with one "git update-ref --stdin".
//
// A transaction is a list of ref edits, each with the old value validated by its author, and
// the objects needed by the new values. It is applied whole or not at all. The one exception is
// a SIGKILL inside git's own commit of it, which can leave a prefix. So edits are listed in the
// order in which a prefix is harmless: payload refs, then the lane, then deletions.
//
// go-git never touches a ref here: its ref writes lose updates beside native
// git. It encodes objects; git itself decides everything else.
package refs
