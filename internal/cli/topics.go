package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"githandoff/internal/fault"

	"github.com/spf13/cobra"
)

// newHelp returns the help of a tree of commands, in place of cobra's own, which takes any word for
// a topic.
func newHelp(root *cobra.Command) command {
	var words []string
	return command{
		use:     "help [COMMAND|TOPIC]",
		short:   "Print the help of a command, or a topic",
		example: []string{"githandoff help emit", "githandoff help agents"},
		exits:   []fault.Code{},
		args:    takesAny(&words),
		complete: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if target, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, c := range target.Commands() {
					if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
						names = append(names, c.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		run: func(context.Context) error {
			target, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 {
				return onlyCommands(target, rest)
			}
			if target == root || !target.Runnable() {
				return target.Help()
			}
			target.InitDefaultHelpFlag()
			fitted(root, func(out io.Writer) { writePage(out, target, true) })
			return nil
		},
	}
}

// newTopics returns the pages of help without a command.
func newTopics() []*cobra.Command {
	all := &cobra.Command{Use: "all", Short: "Every command"}
	all.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fitted(cmd, func(out io.Writer) { allPage(out, cmd.Root()) })
	})
	options := &cobra.Command{Use: "options", Short: "Flags of all commands"}
	options.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fitted(cmd, func(out io.Writer) { optionsPage(out, cmd.Root()) })
	})
	return []*cobra.Command{
		{Use: "agents", Short: "Everything an agent needs", Long: strings.TrimSpace(agentsTopic)},
		all,
		options,
		{Use: "exit-codes", Short: "Exit codes and their meanings", Long: exitCodesTopic()},
		{Use: "environment", Short: "Variables, settings and files", Long: environmentTopic},
		{Use: "formats", Short: "Formats to read and write", Long: formatsTopic},
	}
}

func exitCodesTopic() string {
	var b strings.Builder
	b.WriteString("githandoff ends with one of these:\n\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	b.WriteString(`
A failure prints one line on standard error, "githandoff: …", and then up to three
lines "hint: …", each a command to paste, with its reason after "#", or a remark after
"#" alone. With --json it prints one object instead; "run" is the argument vector of a
hint, and "hint" the first hint as a line:

  {"error":{"code":4,"reason":"untrusted_key","message":"…","hint":"…",
   "hints":[{"run":["githandoff","sync"],"why":"…"}]}}

Programs branch on the reason, a word that does not change. "capture -- CMD" and
"hold -- CMD" exit with the status of CMD, or with 126 or 127 if it cannot be started;
"capture --to" fails if CMD succeeded and nothing was handed over. "watch" exits 0 if it
is interrupted, and with --wake exit it exits 2 when a handoff arrives.`)
	return b.String()
}

const environmentTopic = `Variables:

  GITHANDOFF_AGENT     the agent that acts, unless --as names one
  GITHANDOFF_KEY       the key that signs: an armored OpenPGP private key or an
                       OpenSSH one, without passphrase (for CI); it is not passed
                       to programs that githandoff starts
  GITHANDOFF_DEBUG     if set, a bug prints a stack trace
  KELOS_HANDOFF_PATH   where agents of Kelos leave a handoff
                       (/tmp/kelos-handoff.json)
  XDG_DATA_HOME        keys are in $XDG_DATA_HOME/githandoff/keys (~/.local/share)
  XDG_CONFIG_HOME      this user's trust is in
                       $XDG_CONFIG_HOME/githandoff/trust.json (~/.config)
  XDG_STATE_HOME       what setup wrote is recorded in
                       $XDG_STATE_HOME/githandoff/setup.json (~/.local/state)
  HOME                 the default place of all three; if it is unset or not an
                       absolute path, the home in the user database
  SSH_AUTH_SOCK        ssh-agent, for keys that it holds
  NO_COLOR             if set, no colour, unless --color asks for it
  PAGER                the pager of long output at a terminal, if git names none (less)

githandoff passes on git's own variables for the place of the repository (GIT_DIR,
GIT_WORK_TREE, GIT_OBJECT_DIRECTORY, …), the configuration (GIT_CONFIG_*), and the
access to remotes (GIT_SSH_COMMAND, GIT_ASKPASS, …), and those of Git LFS
(GIT_LFS_SKIP_SMUDGE, …).

Settings (git config):

  handoff.agent        the agent of worktrees where init did not run
  handoff.key          its key, as --key names it; the key of its name if unset
  handoff.serves       further inboxes from which this agent takes
  handoff.pull         aliases that resume asks (origin, or the only remote)
  handoff.lanes        needed: fetch no history of other handoffs; all: fetch it
                       also in a shallow clone, where needed is the default
  handoff.defaultRepo  the alias for "--to AGENT"; this repository if unset
  handoff.snapshot     always: each handoff has a snapshot; auto: if something is
                       not committed, or not at the home; never: only with --snapshot
                       (never)
  handoff.snapshotLimit   bytes that a snapshot may have, such as 50m (20m)
  handoff.archive      true: the receiver keeps ended handoffs in this clone
  handoff.publish      false: init does not publish the public key at the hub
  handoff.policyRef    the commit with .githandoff.yaml (origin/HEAD, else HEAD)
  handoff.enforce      false: a push outside the held token is only a warning
  handoff.hookTimeout  seconds that git waits for a hook (5)
  handoff.session, handoff.stop, handoff.end   what the hooks of coding agents do
                       ("githandoff help hook agent")
  handoff.poll         how often "githandoff watch" asks the hubs, such as 5m (never)
  handoff.sshShare     false: each git opens its own ssh connection
  handoff.hubUrl       at a guarded hub: URLs by which clients reach it
  handoff.prefix       at a guarded hub: the prefix below which clients keep handoffs
  handoffrepo.ALIAS.url   written by "githandoff repo add"; .id and .pinnedUrl
                       pin the repository that it named then, .alsoId its other ids;
                       .prefix: where its handoffs are instead of refs/handoffs

The agent that acts is the first of: --as, $GITHANDOFF_AGENT, the agent that
"githandoff init" wrote for this worktree, handoff.agent.

Files below the git directory that all worktrees share:

  githandoff/trust.json    the keys that are trusted in this repository
  githandoff/team/         lists of keys that were adopted from hubs
  githandoff/kept/         packs that are protected from a running git gc
  githandoff/used          tokens of handoffs that ended in this clone

Files below the git directory of each worktree:

  githandoff/agent, key    the agent that acts here, and its key
  githandoff/claims/       held handoffs, and steps that wait for a hub
  githandoff/draft.json    a draft that the post-commit hook sends`

const formatsTopic = `The format of a document is detected by its content, or named with --format (--from
and --to of convert). Exported in the same format, a document is the same JSON value
again. It is a file, or the last block labelled json of a Markdown file; the text around
the block then becomes the detail, unless the format has a detail of its own. A handoff
of an unknown system is refused. With --format it is accepted, and members that the
format does not define are kept and shown.

  githandoff  githandoff's own envelope, complete, or a draft that may lack any
              member but schema: {"schema":"githandoff/1","goal":"…"}
  kelos       {"version":1,"summary":"…","detail":"…","data":{…}}, in a file or
              in a log between ---KELOS_HANDOFF_START--- and
              ---KELOS_HANDOFF_END---; the last pair wins
  vox         version 1.0: session_id, source_agent, target_agent, goal,
              completed_steps, pending_blockers, relevant_files,
              cryptographic_obo_token; files in .vox/handoffs are used only if
              you name them: emit -f FILE, resume --format vox >FILE
  metadata    the JSON block that ends an agent's Markdown output: agent,
              output_type, status, blocked_reason, attempted,
              handoff{next_agent, context}, …; only status is required, and an
              unknown status becomes needs_review
  gsd         .planning/HANDOFF.json: version, next_action, context_notes, phase,
              completed_tasks, remaining_tasks, blockers, decisions, …; a
              warning lists uncommitted files
  ho          handoff_id, source{agent, phase}, target{agent, reason}, context,
              expectations, rollback

Limits: summary and goal 4,096 bytes each, detail and data together 65,536, five
relevant files, a whole document 131,072. Nothing is cut: a text over its limit is
refused (exit 6). Raw conversations and secrets in known shapes are refused as well
(exit 7): "githandoff validate" says where.

resume has one more format, "prompt": text for an agent, inside a fence, below a line
that names the signer.`

// exitCodes returns the table printed by "help exit-codes".
func exitCodes() []exitCode {
	return []exitCode{
		{0, "done"},
		{fault.Other, "any other failure"},
		{fault.Usage, "usage"},
		{fault.NotFound, "not found; nothing pending"},
		{fault.Denied, "signature, trust or token refused"},
		{fault.Conflict, "conflict: held by another, not the holder, lost the race"},
		{fault.Invalid, "invalid record: malformed, non-canonical, wrong version, over a limit"},
		{fault.Policy, "policy: scope, secret, transcript, capability, skill"},
		{fault.Unavailable, "git or a remote unavailable or refusing; what was to be sent is kept"},
		{fault.Bug, "a bug in githandoff"},
		{fault.Interrupted, "interrupted"},
	}
}

type exitCode struct {
	code    fault.Code
	meaning string
}
