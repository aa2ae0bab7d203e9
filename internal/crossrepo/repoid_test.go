package crossrepo

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

func TestRepoID(t *testing.T) {
	for want, urls := range map[string][]string{
		"git+https://example.com/acme/client": {
			"https://example.com/acme/client", "https://example.com/acme/client.git", "https://example.com/acme/client/",
			"https://example.com/acme/client.git/", "https://EXAMPLE.com/acme/client", "https://alice@example.com/acme/client",
			"https://alice:secret@example.com/acme/client.git", "https://example.com:443/acme/client.git",
			"http://example.com/acme/client", "http://example.com:80/acme/client",
			"git://example.com/acme/client.git", "git://example.com:9418/acme/client",
			"ssh://git@example.com/acme/client.git", "ssh://git@example.com:22/acme/client.git", "ssh://Example.com/acme/client",
			"git@example.com:acme/client.git", "example.com:acme/client", "git@example.com:/acme/client.git", "Example.COM:acme/client/",
		},
		"git+https://example.com:8443/acme/client": {"https://example.com:8443/acme/client", "ssh://git@example.com:8443/acme/client.git"},
		"git+https://[2001:db8::1]/acme/client":    {"https://[2001:DB8::1]/acme/client", "ssh://git@[2001:db8::1]:22/acme/client"},
		"git+https://example.com/Acme/Client":      {"https://example.com/Acme/Client"},
		"git+https://example.com/a%20b":            {"https://example.com/a%20b", "example.com:a b", "ssh://example.com/a b", "ssh://git@example.com/a%20b.git"},
		"git+https://example.com/%C3%BCn/x":        {"https://example.com/ün/x", "example.com:ün/x", "ssh://example.com/ün/x", "ssh://example.com/%C3%BCn/x.git"},
		"git+https://example.com/100%25":           {"example.com:100%", "ssh://example.com/100%25"},
		"git+https://%C3%BCn.example/x":            {"https://ÜN.example/x", "git@Ün.example:x", "ssh://ün.example/x"},
		"git+https://h%E4/x":                       {"h\xe4:x", "ssh://h\xe4/x"}, // a Host of ~/.ssh/config in Latin-1
		"git+file:///srv/j%C3%BCrgen/h.git":        {"/srv/jürgen/h.git", "file:///srv/jürgen/h.git", "file:///srv/j%C3%BCrgen/h.git"},
		"git+file:///srv/a b":                      {"/srv/a b", "file:///srv/a b", "file:///srv/a%20b"},
		"git+file:///srv/%25C3":                    {"/srv/%C3", "file:///srv/%25C3"},
		"git+file:///srv/100%":                     {"/srv/100%", "file:///srv/100%"},
		"git+file:///srv/hub.git": {
			"/srv/hub.git", "file:///srv/hub.git", "/srv//hub.git/", "/srv/x/../hub.git", "../hub.git", "./../hub.git/",
		},
		"git+file:///srv/work":     {"/srv/work", "/srv/work/.git", "file:///srv/work/.git/"},
		"git+file:///":             {"/", "/.git", "file:///.git/"},
		"git+file:///srv/repo/a:b": {"./a:b", "/srv/repo/a:b"},
		"git+file:///srv/a::b":     {"/srv/a::b"},
	} {
		for _, url := range urls {
			got, err := RepoID(url, "/srv/repo")
			require.NoError(t, err, url)
			assert.Equal(t, want, got, url)
		}
	}
}

func TestRepoIDRefuses(t *testing.T) {
	for _, url := range []string{
		"", "-oProxyCommand=x", "--upload-pack=touch /tmp/x", "ext::sh -c x", "fd::17", "transport::address",
		"ftp://example.com/x", "rsync://example.com/x", "ext://x", "javascript://x", "https://", "https:///path", "ssh://-oProxyCommand=x/y",
		"-h:x", "git@-oProxyCommand=x:y", ":x", "a\nb", "https://example.com/\x00", "\x7f",
	} {
		_, err := RepoID(url, "/srv/repo")
		assert.True(t, fault.Is(err, "bad_url"), "%q: %v", url, err)
		assert.Equal(t, fault.Usage, fault.CodeOf(err), "%q", url)
	}
}

// An id is one line and contains no password. The id derived from an id is the same id.
func FuzzRepoID(f *testing.F) {
	for _, url := range []string{
		"https://alice:secret@example.com/acme/client.git", "git@example.com:acme/client", "../hub.git", "ssh://[::1]:22/x", "file:///a/.git",
		"a:b", "x::y", "/.git", "-x", "https://%zz", "/a//b/../c/",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		id, err := RepoID(url, "/srv/repo")
		if err != nil {
			return
		}
		rest, ok := strings.CutPrefix(id, "git+")
		require.True(t, ok, id)
		assert.False(t, strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }), "%q", id)
		if strings.HasPrefix(rest, "file://") {
			require.True(t, strings.HasPrefix(rest, "file:///"), id)
			return
		}
		host, _, _ := strings.Cut(strings.TrimPrefix(rest, "https://"), "/")
		assert.NotContains(t, host, "@", "%q", url)
		if host = decoded(host); utf8.ValidString(host) {
			assert.Equal(t, strings.ToLower(host), host)
		}
	})
}
