package dialect

// set stores a string unless it is empty.
func set(o map[string]any, member, value string) {
	if value != "" {
		o[member] = value
	}
}

// setList stores a list unless it is empty.
func setList(o map[string]any, member string, values []string) {
	if len(values) > 0 {
		o[member] = array(values)
	}
}

// setObject stores an object unless it is empty.
func setObject(o map[string]any, member string, inner map[string]any) {
	if len(inner) > 0 {
		o[member] = inner
	}
}

func array(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
