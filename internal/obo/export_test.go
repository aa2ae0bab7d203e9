package obo

import "strings"

// String is the one spelling of the scope.
func (s Scope) String() string {
	text := strings.Join(s.action, ".")
	if s.target != nil {
		text += ":" + strings.Join(s.target, "/")
	}
	return text
}
