// Package private knows where this user's own files are, and which files are to be
// believed: those that nobody else could have put there.
//
// # Places
//
// Keys are below $XDG_DATA_HOME/githandoff, by default ~/.local/share/githandoff;
// what this user trusts is below $XDG_CONFIG_HOME/githandoff, by default
// ~/.config/githandoff. Such a variable is an absolute path or is refused: a
// relative one would lead into whatever directory the command runs in, and so
// into a file of somebody's clone. $HOME that is unset, empty or relative is
// replaced by the home directory of the user database; where that knows none
// either, the command ends with [fault.Usage].
//
// # Belief
//
// A file is believed that belongs to this user, or to root, and that nobody
// else may change, in directories of which the same is true, up to the home
// directory or the git directory. A group that has no other member, as Debian and
// Fedora give one to each user, is nobody else. A link is not followed where it stands for one
// of githandoff's own files or directories.
package private
