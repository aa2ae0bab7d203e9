package crossrepo

import "strings"

// URL is the address of a repository as it is configured. It may hold a password or a token.
// Printed, it holds neither: string(u) is for git only.
type URL string

// String returns the URL as people see it. Of http and https the user goes as well: many hosts take
// a token for one.
func (u URL) String() string { return u.with("***", ":***") }

// Bare returns the URL for a command that somebody pastes: without the secret, which git asks for.
func (u URL) Bare() string { return u.with("", "") }

// with returns the URL with something in place of the user of http and https, and of any password.
func (u URL) with(user, password string) string {
	scheme, rest, ok := strings.Cut(string(u), "://")
	if !ok {
		return string(u)
	}
	authority, path, below := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return string(u)
	}
	who, _, secret := strings.Cut(authority[:at], ":")
	switch {
	case strings.HasPrefix(strings.ToLower(scheme), "http"):
		who = user
	case secret:
		who += password
	}
	if who != "" {
		who += "@"
	}
	if below {
		path = "/" + path
	}
	return scheme + "://" + who + authority[at+1:] + path
}
