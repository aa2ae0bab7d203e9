package crossrepo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

func TestURL(t *testing.T) {
	for address, want := range map[URL][2]string{
		"https://example.com/acme/client.git":            {"https://example.com/acme/client.git", "https://example.com/acme/client.git"},
		"https://user:token@example.com/acme/client.git": {"https://***@example.com/acme/client.git", "https://example.com/acme/client.git"},
		"https://token@example.com/acme/":                {"https://***@example.com/acme/", "https://example.com/acme/"},
		"HTTP://a:b@example.com":                         {"HTTP://***@example.com", "HTTP://example.com"},
		"https://a:b@c@example.com/x":                    {"https://***@example.com/x", "https://example.com/x"},
		"https://example.com/a@b":                        {"https://example.com/a@b", "https://example.com/a@b"},
		"ssh://git@example.com:2222/acme":                {"ssh://git@example.com:2222/acme", "ssh://git@example.com:2222/acme"},
		"ssh://git:secret@example.com/acme":              {"ssh://git:***@example.com/acme", "ssh://git@example.com/acme"},
		"git@example.com:acme/client.git":                {"git@example.com:acme/client.git", "git@example.com:acme/client.git"},
		"../a hub/x.git":                                 {"../a hub/x.git", "../a hub/x.git"},
		"/srv/git/x.git":                                 {"/srv/git/x.git", "/srv/git/x.git"},
	} {
		assert.Equal(t, want, [2]string{fmt.Sprint(address), address.Bare()}, string(address))
	}
}

// The hint of a refused move contains the URL without the password.
func TestHintOfMoveHasNoSecret(t *testing.T) {
	a := &Alias{Name: "hub", target: "https://me:secret@example.com/acme/client.git"}
	err := mayMove(a, &Alias{Prefix: BranchPrefix}, map[string]string{BranchPrefix + "/log/00": ""})
	f := fault.As(err)
	require.NotNil(t, f)
	assert.Contains(t, f.Hints[0].String(), "git ls-remote -- https://example.com/acme/client.git ")
}
