// Package agentsetup makes coding agents call githandoff: it writes their hooks, skills and
// plugins, keeps a record of its writes, and removes exactly those again.
//
// If a client has a place for a file or a directory of our own, setup writes it there. If a
// client has one file for everybody's hooks, entries are added at the end of its lists and no
// other byte changes, comments included. An unparsable file is left alone.
//
// The record, setup.json in githandoff's state directory, names each file with the digest of its
// content and the added texts. A file edited since is not overwritten and not removed; edited
// entries stay.
//
// Nothing here makes a client trust a hook: Codex CLI asks its user to review each one.
package agentsetup
