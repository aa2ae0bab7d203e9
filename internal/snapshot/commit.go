package snapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

// writer makes the commits of one snapshot.
type writer struct {
	q       Request
	label   string // place of the snapshot, such as "main: 1a2b3c4 subject"
	objects []*refs.Object
}

func (w *writer) commit(tree, message string, parents ...string) string {
	o := refs.NewObject(gitobj.FormatOf(tree), "commit", gitobj.EncodeCommit(tree, parents, w.q.Actor+" <"+w.q.Mail+">", w.q.Now, message))
	w.objects = append(w.objects, o)
	return o.OID
}

// The lines of the index commit's message. A path with the mode of a plain file has no
// second line.
const (
	intentLine     = "Intent-To-Add: "
	intentModeLine = "Intent-Mode: " // followed by mode, space and path
)

func (w *writer) indexMessage(intents []string, modes map[string]string) string {
	message := "index on " + w.label + "\n"
	if len(intents) > 0 {
		message += "\n"
	}
	for _, path := range intents {
		message += intentLine + quoted(path) + "\n"
		if mode := modes[path]; mode != gitobj.File {
			message += intentModeLine + mode + " " + quoted(path) + "\n"
		}
	}
	return message
}

// label returns how git names the place of a stash: branch, short id and subject.
func label(repo *refs.Repo, head []byte) string {
	_, message, _ := bytes.Cut(head, []byte("\n\n"))
	subject, _, _ := strings.Cut(strings.TrimSpace(string(message)), "\n")
	return cmp.Or(repo.Branch, "(no branch)") + ": " + repo.Head[:7] + " " + strings.ToValidUTF8(subject, "?")
}

// show writes a path for a message.
func show(path string) string {
	if q := fmt.Sprintf("%+q", path); q != `"`+path+`"` {
		return q
	}
	return path
}

// showSome writes the first ten of some paths for a message.
func showSome(paths []string) string {
	var shown []string
	for _, path := range paths[:min(len(paths), 10)] {
		shown = append(shown, show(path))
	}
	return strings.Join(shown, ", ")
}
