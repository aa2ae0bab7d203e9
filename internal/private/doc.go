// Package private knows where this user's own files are, and which files can be trusted: those
// which nobody else could have put there.
//
// # Places
//
// Keys are below $XDG_DATA_HOME/githandoff, by default ~/.local/share/githandoff; trusted keys
// are below $XDG_CONFIG_HOME/githandoff, by default ~/.config/githandoff. Such a variable is an
// absolute path or is refused: a relative one would lead into the current directory, and so into
// somebody's clone. If $HOME is unset, empty or relative, the home directory of the user database
// is used; without one there, the command ends with [fault.Usage].
//
// # Trusted files
//
// A file is trusted if it belongs to this user, or to root, and nobody else may change it, and
// the same is true of its directories, up to the home directory or the git directory. A group
// without other members, as Debian and Fedora give one to each user, is nobody else. A link in
// place of one of githandoff's own files or directories is not followed.
package private
