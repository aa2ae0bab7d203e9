// Package crossrepo is about two repositories: which one an alias means and
// whether it is still the same ([Aliases]), a hub as the home of handoffs
// ([Hub]), and the comparison of a hub's lanes with the copies in this clone
// ([Hub.CatchUp]).
//
// # Repo ids
//
// A home is known by its repo id, not by a URL, so that https and ssh clones of
// one hub agree:
//
//	https://host/path   ssh://user@host:22/path   user@host:path   git://host/path
//	    → git+https://host/path     (host in lower case, no user, no default
//	                                 port, no trailing "/" or ".git")
//	/srv/hub.git   file:///srv/hub.git
//	    → git+file:///srv/hub.git   (absolute, no trailing "/" or "/.git")
//
// An id is printable ASCII. In the path of user@host:path, and of ssh://, the characters a URL
// would escape are escaped; in the path of a file, each byte outside printable ASCII, and a "%"
// before two hex digits, is written as "%" and two hex digits.
//
// An id is pinned in git config (handoffrepo.<alias>.id) when an alias is first met, and never
// derived again: a changed URL is refused until a person confirms it. A hub can have further
// ids (handoffrepo.<alias>.alsoid): records naming any of them are at home there, and new
// records name the first one.
//
// # Transport
//
// A hub is read with "git fetch": the inboxes into a namespace of copies, the lanes into a
// mirror. A lane is checked there before its copy moves. A hub is changed with one atomic push,
// each ref leased at the value read before. Any server that git can fetch from and push to will
// do.
package crossrepo
