//go:build !linux

package refs

// openUnseen is for Linux: elsewhere no open files show.
func openUnseen(string) bool { return false }
