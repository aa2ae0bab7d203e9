package refs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"githandoff/internal/fault"
)

// errEnded says that git cat-file ended in the middle of a question: it dies
// when an object that it has found is taken away before it has read it.
var errEnded = errors.New("git cat-file ended")

// answer is the first line of the answer of "git cat-file --batch" for a name. A missing
// object has no kind.
type answer struct {
	oid  string
	kind string // "blob", "tree", "commit", "tag"
	size int64  // of the body that follows, in bytes
}

func readAnswer(in *bufio.Reader) (answer, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errEnded, err)
	}
	return parseAnswer(head)
}

func parseAnswer(head string) (answer, error) {
	field := strings.Fields(head)
	if len(field) == 2 && field[1] == "missing" {
		return answer{}, nil
	}
	if len(field) != 3 {
		return answer{}, fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
	}
	size, err := strconv.ParseInt(field[2], 10, 64)
	if err != nil || size < 0 {
		return answer{}, fmt.Errorf("git cat-file says %q", strings.TrimSpace(head))
	}
	return answer{field[0], field[1], size}, nil
}

// body reads the object after the first line. It uses buf if that is large enough.
func (a answer) body(in *bufio.Reader, buf []byte) ([]byte, error) {
	n := int(a.size) + 1 // the line feed after it
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(in, buf[:n]); err != nil {
		return nil, fmt.Errorf("%w: %w", errEnded, err)
	}
	return buf[:n-1], nil
}

// commit refuses what is there and is no commit of at most limit bytes.
func (a answer) commit(limit int64) error {
	switch {
	case a.size > limit:
		return fault.New(fault.Denied, fault.TooLarge, "%s %s has %d bytes, limit %d", a.kind, a.oid, a.size, limit)
	case a.kind != "" && a.kind != "commit":
		return fault.New(fault.Denied, fault.MalformedObject, "%s is a %s, not a commit", a.oid, a.kind)
	}
	return nil
}
