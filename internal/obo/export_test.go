package obo

import "strings"

// String returns the only text form of the scope.
func (s Scope) String() string {
	text := strings.Join(s.action, ".")
	if s.target != nil {
		text += ":" + strings.Join(s.target, "/")
	}
	return text
}
