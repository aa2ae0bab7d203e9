package untrusted

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Fence puts text between two lines that carry a random mark, which the text cannot
// contain. The label says who wrote it.
func Fence(random io.Reader, body, label string) ([]byte, error) {
	var raw [8]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return nil, err
	}
	mark := hex.EncodeToString(raw[:])
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return fmt.Appendf(nil, "----- begin %s: data %s -----\n%s----- end %s -----\n", mark, label, escaped(body), mark), nil
}

// escaped keeps the structure of lines and replaces other control characters.
func escaped(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return '\uFFFD'
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}
