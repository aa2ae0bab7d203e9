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
	maxInput = 128 << 20 // bytes of standard input: some 700,000 refs
	maxLine  = 64 << 10
)

// ReadEdits reads the input of a pre-receive hook, a line for each ref:
// "<old> SP <new> SP <ref> LF".
func ReadEdits(r io.Reader) ([]refs.Edit, error) {
	lines := bufio.NewScanner(io.LimitReader(r, maxInput+1))
	lines.Buffer(nil, maxLine)
	var edits []refs.Edit
	var size int
	for lines.Scan() {
		if size += len(lines.Bytes()) + 1; size > maxInput {
			return nil, denied(fault.TooLarge, "a push of more than %d bytes of ref names", maxInput)
		}
		before, rest, _ := strings.Cut(lines.Text(), " ")
		after, name, ok := strings.Cut(rest, " ")
		if !ok || name == "" || !gitobj.IsID(before) || !gitobj.IsID(after) {
			return nil, fault.New(fault.Usage, fault.BadUsage, "pre-receive reads lines of the form OLD NEW REF")
		}
		edits = append(edits, refs.Edit{Ref: name, Old: gitobj.ID(before), New: gitobj.ID(after)})
	}
	return edits, lines.Err()
}

// ReadPush reads the input of a pre-push hook, a line for each ref:
// "<local ref> SP <local id> SP <remote ref> SP <remote id> LF". An edit is named
// by the remote ref. Handoffs and their notes are left out: they are not code.
func ReadPush(r io.Reader) ([]refs.Edit, error) {
	lines := bufio.NewScanner(io.LimitReader(r, maxInput))
	lines.Buffer(nil, maxLine)
	var edits []refs.Edit
	for lines.Scan() {
		f := strings.Split(lines.Text(), " ")
		if len(f) != 4 || f[2] == "" || !gitobj.IsID(f[1]) || !gitobj.IsID(f[3]) {
			return nil, fault.New(fault.Usage, fault.BadUsage, "pre-push reads lines of the form LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID")
		}
		if strings.HasPrefix(f[2], refs.Root) || f[2] == refs.NotesRef {
			continue
		}
		edits = append(edits, refs.Edit{Ref: f[2], Old: gitobj.ID(f[3]), New: gitobj.ID(f[1])})
	}
	return edits, lines.Err()
}
