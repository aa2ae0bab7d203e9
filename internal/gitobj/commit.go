package gitobj

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// EncodeCommit renders an unsigned commit. who, "Name <mail>", is author and committer; the
// time is written in UTC and whole seconds. It checks nothing.
func EncodeCommit(tree string, parents []string, who string, when time.Time, message string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %[1]s %[2]d +0000\ncommitter %[1]s %[2]d +0000\n\n%[3]s", who, when.Unix(), message)
	return []byte(b.String())
}

// Header returns the values of a header of a raw commit, such as "parent", in their order.
// It checks nothing.
func Header(commit []byte, name string) []string {
	var values []string
	for line := range bytes.Lines(commit) {
		if len(line) == 1 { // the end of the headers
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			values = append(values, string(bytes.TrimSuffix(value, []byte("\n"))))
		}
	}
	return values
}
