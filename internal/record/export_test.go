package record

// Trailers returns the names of all trailers, in the order on the wire. The first eleven are in every message.
func Trailers() []string {
	var names []string
	for _, t := range trailers {
		names = append(names, t.key)
	}
	return names
}

// Events returns all events, in the order of the specification.
func Events() []Event {
	return []Event{Offered, Routed, Claimed, Progressed, Released, Acknowledged, Failed, Rerouted, Revoked, Expired, Joined}
}
