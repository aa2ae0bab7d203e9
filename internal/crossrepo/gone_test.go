package crossrepo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A ref that goes between the list of a hub and the request for its object makes the hub
// refuse the fetch. The next list is right.
func TestObjectThatWentMeanwhile(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")

	dir := t.TempDir()
	once := filepath.Join(dir, "once")
	require.NoError(t, os.WriteFile(once, nil, 0o600))
	refusal := "ERR upload-pack: not our ref " + strings.Repeat("a", 40)
	script := fmt.Sprintf("#!/bin/sh\nif test -e '%[1]s'; then rm '%[1]s'; printf '%%s' '%04[2]x%[3]s'; exit 1; fi\nexec git-upload-pack \"$@\"\n",
		once, len(refusal)+4, refusal)
	program := filepath.Join(dir, "upload-pack")
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	fixer.git.Git(t, "config", "remote.origin.uploadpack", program)

	assert.NotEmpty(t, fixer.look(t, p).Tip)
	assert.NoFileExists(t, once, "the hub refused a fetch")
}
