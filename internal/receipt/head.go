package receipt

// WithCommit adds commit, the value of HEAD, to the results of an acknowledgement, unless they
// name one, or have no room for it.
func WithCommit(data, commit string) string {
	r := DecodeResults(data)
	if _, said := r["commit"]; said || commit == "" || data != "" && r == nil {
		return data
	}
	if r == nil {
		r = Results{}
	}
	r["commit"] = commit
	with, err := r.Encode()
	if err != nil {
		return data
	}
	return with
}
