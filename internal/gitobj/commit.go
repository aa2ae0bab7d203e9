package gitobj

import "bytes"

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
