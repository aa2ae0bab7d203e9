package doctor

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A file that cannot be read has a way out, whatever check met it.
func TestProblemOfAFile(t *testing.T) {
	var found Finding
	d := &checkup{to: func(f Finding) { found = f }}
	err := fmt.Errorf("read hook: %w", &fs.PathError{Op: "lstat", Path: "hooks/post-commit", Err: syscall.EACCES})
	d.problem("hooks", err)
	assert.Equal(t, err.Error(), found.Message)
	assert.NotEmpty(t, found.Hints)
}
