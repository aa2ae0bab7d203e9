// Package gitexec is the only package that starts a process: git, gpg,
// ssh-keygen.
//
// Every child gets a scrubbed environment (see [Environ]), a session of its own, and a time
// limit. The session matters: a signal to githandoff's process group must not stop git in the
// middle of a ref transaction. Killing githandoff lets its children finish.
//
// git is run with settings which keep it from doing anything else: no hooks, no prompts, no
// automatic maintenance, no submodules, no replace objects. core.warnAmbiguousRefs=false is not
// cosmetic: without it git 2.39 reads packed-refs before it takes the lock, and loses updates
// beside a running pack-refs.
//
// The output of a child is bounded. Callers look at exit codes and porcelain output. Where git
// gives a reason in words alone, they match the words, which are English in the C locale.
package gitexec
