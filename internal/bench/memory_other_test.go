//go:build !linux

package bench

import "testing"

// inMemory does nothing: not every Unix has a place for files in memory.
func inMemory(*testing.B) {}
