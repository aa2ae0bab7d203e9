package agentsetup

// Wrote reports whether a file is one that setup wrote, for any client and scope.
func (r *Request) Wrote(path string) bool {
	rec, err := r.record()
	return err == nil && rec.find(path) != nil
}
