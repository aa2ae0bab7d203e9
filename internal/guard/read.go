package guard

import (
	"bufio"
	"io"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

// Limits of one push.
const (
	maxInput = 128 << 20 // limit of standard input in bytes: some 700,000 refs
	maxLine  = 64 << 10
)

// ReadEdits reads the input of a pre-receive hook, a line for each ref:
// "<old> SP <new> SP <ref> LF".
func ReadEdits(r io.Reader) ([]refs.Edit, error) {
	var edits []refs.Edit
	err := eachLine(r, func(line string) error {
		before, rest, _ := strings.Cut(line, " ")
		after, name, ok := strings.Cut(rest, " ")
		if !ok || name == "" || !gitobj.IsID(before) || !gitobj.IsID(after) {
			return fault.New(fault.Usage, fault.BadUsage, "pre-receive reads lines of the form OLD NEW REF")
		}
		edits = append(edits, refs.Edit{Ref: name, Old: gitobj.ID(before), New: gitobj.ID(after)})
		return nil
	})
	return edits, err
}

// ReadPush reads the input of a pre-push hook, a line for each ref:
// "<local ref> SP <local id> SP <remote ref> SP <remote id> LF". An edit is named
// by the remote ref. git writes the local ref as the user did, so that it may have spaces
// (HEAD@{1 day ago}). Handoffs and their notes are left out: they are not code.
func ReadPush(r io.Reader) ([]refs.Edit, error) {
	var edits []refs.Edit
	err := eachLine(r, func(line string) error {
		f := strings.Split(line, " ")
		if len(f) < 4 {
			return notPush()
		}
		after, name, before := f[len(f)-3], f[len(f)-2], f[len(f)-1]
		if name == "" || !gitobj.IsID(before) || !gitobj.IsID(after) {
			return notPush()
		}
		if !strings.HasPrefix(name, refs.Root) && name != refs.NotesRef {
			edits = append(edits, refs.Edit{Ref: name, Old: gitobj.ID(before), New: gitobj.ID(after)})
		}
		return nil
	})
	return edits, err
}

func notPush() error {
	return fault.New(fault.Usage, fault.BadUsage, "pre-push reads lines of the form LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID")
}

// eachLine calls fn with each line of a push, and refuses more than maxInput bytes.
func eachLine(r io.Reader, fn func(line string) error) error {
	lines := bufio.NewScanner(io.LimitReader(r, maxInput+1))
	lines.Buffer(nil, maxLine)
	size := 0
	for lines.Scan() {
		if size += len(lines.Bytes()) + 1; size > maxInput {
			return denied(fault.TooLarge, "a push of more than %d bytes of ref names", maxInput)
		}
		if err := fn(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}
