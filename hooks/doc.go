// Package hooks puts githandoff's git hooks into a hooks directory and takes them out again,
// without a trace.
//
// # What is installed
//
// A hook is one POSIX shell script. It decides with the shell's builtins
// whether there is anything to do, and only then starts "githandoff hook run
// NAME" with git's arguments and standard input:
//
//	post-commit         a Handoff-To trailer, a draft, or a held claim
//	prepare-commit-msg  a held claim, or a Handoff-To in the message of another commit
//	commit-msg          a held claim
//	pre-push            a clone in which "githandoff init" was run
//	post-checkout       a branch, not a file, was checked out
//	post-merge          always
//	post-rewrite        always
//	pre-receive         always (on a hub)
//
// No hook of a clone ever fails or blocks git, with one exception: neither an
// error of githandoff nor its absence changes the exit status, but when it ends
// with 7, the push is outside of the authority under which the agent works, and
// pre-push fails. pre-receive guards a hub and refuses the push in all cases.
//
// # The file
//
// A script is these bytes, every line ended by LF:
//
//	#!/bin/sh
//	# githandoff hook 1 sha256:<64 lower-case hex digits>
//	<body>
//
// 1 is the version of this format, and the digest is that of the body: all bytes after the
// second line. With a right digest, the file was written by githandoff and not touched since,
// so it may be replaced and removed. With a wrong one, it was edited and belongs to its
// editor. The body begins with comments and the settings
//
//	hook=post-commit
//	githandoff='/usr/local/bin/githandoff'
//	shell=''
//
// where the second is the program that installed the hook, in single quotes (a quote within
// ends them, is escaped, and opens them again), or empty. If there is no such program any
// more, githandoff is looked up in PATH. The third is the shell of an existing hook, if it is
// read under the name of the hook. The functions needed by the hook, from script/part,
// come next, and then script/<name>.sh, each after an empty line.
//
// # An existing hook
//
// An existing hook is kept, byte for byte and with its mode, as <name>.before-githandoff in
// the same directory; a symbolic link stays one. Our script runs it first, with the same
// arguments and all of the same standard input. If it fails, a hook able to stop git (pre-*,
// prepare-*, commit-msg) ends there with its status; a post-* hook goes on and ends with its
// status. As git does, the script passes over a kept hook that is not executable. A script of
// sh, dash or bash that asks $0 for its name or its directory is read by that shell and sees the
// name of the hook, as before. One thing is different for other hooks: they see the longer name.
// So do those that read or start $0, follow it as a symbolic link, or use BASH_SOURCE, because
// under the name of the hook they would find our script.
//
// Each step is a rename of a complete file, in this order: the copy is made,
// then our script takes the place. So whenever the process dies, git finds
// either the old hook or ours with the old one behind it, and the next Install
// or Uninstall carries on from there.
//
// # Hook managers
//
// lefthook, husky, pre-commit, overcommit and simple-git-hooks write hooks of their own and would
// overwrite ours. [DetectManager] recognises them, and [Manager.Line] is the line to add to
// their configuration instead.
package hooks
