//go:build !linux

package gittest

import "os/exec"

// dieWithParent has no counterpart here: the server of a test that was killed
// stays.
func dieWithParent(*exec.Cmd) {}
