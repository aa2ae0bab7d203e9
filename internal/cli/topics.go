package cli

import (
	"context"
	"fmt"
	"strings"

	"githandoff/internal/fault"

	"github.com/spf13/cobra"
)

// newHelp is the help of a tree of commands, in place of cobra's own, which takes any word for
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
				return noSuchCommand(target, rest)
			}
			if target == root || !target.Runnable() {
				return target.Help()
			}
			target.InitDefaultHelpFlag()
			writePage(root.OutOrStdout(), target, true)
			return nil
		},
	}
}

// newTopics are the pages of help that belong to no command.
func newTopics() []*cobra.Command {
	all := &cobra.Command{Use: "all", Short: "Every command"}
	all.SetHelpFunc(func(cmd *cobra.Command, _ []string) { allPage(cmd.OutOrStdout(), cmd.Root()) })
	options := &cobra.Command{Use: "options", Short: "Flags that all commands have"}
	options.SetHelpFunc(func(cmd *cobra.Command, _ []string) { optionsPage(cmd.OutOrStdout(), cmd.Root()) })
	return []*cobra.Command{
		{Use: "agents", Short: "All that an agent needs", Long: strings.TrimSpace(agentsTopic)},
		all,
		options,
		{Use: "exit-codes", Short: "What the exit status says", Long: exitCodesTopic()},
		{Use: "environment", Short: "Variables, settings and files", Long: environmentTopic},
		{Use: "formats", Short: "Formats that are read and written", Long: formatsTopic},
	}
}

func exitCodesTopic() string {
	var b strings.Builder
	b.WriteString("githandoff ends with one of these:\n\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	b.WriteString(`
A failure is one line on standard error, "githandoff: …", and then up to three lines
"hint: …", each a command to paste, with its reason behind "#". With --json it is one
object instead; "run" is the argument vector of a hint, "hint" the first as a line:

  {"error":{"code":4,"reason":"untrusted_key","message":"…","hint":"…",
   "hints":[{"run":["githandoff","sync"],"why":"…"}]}}

Programs branch on the reason, a word that does not change. "capture -- CMD"
ends with the status of CMD.`)
	return b.String()
}

const environmentTopic = `Variables:

  GITHANDOFF_AGENT     who acts, unless --as says so
  GITHANDOFF_KEY       the key that signs: an armored OpenPGP private key or an
                       OpenSSH one, without passphrase (for CI); no program that
                       githandoff starts gets it
  GITHANDOFF_DEBUG     set: a bug ends with a stack trace
  KELOS_HANDOFF_PATH   where agents of Kelos leave a handoff
                       (/tmp/kelos-handoff.json)
  XDG_DATA_HOME        keys are in $XDG_DATA_HOME/githandoff/keys (~/.local/share)
  XDG_CONFIG_HOME      this user's trust is in
                       $XDG_CONFIG_HOME/githandoff/trust.json (~/.config)
  HOME                 where these are by default; where it is unset or no
                       absolute path, the home of the user database counts
  SSH_AUTH_SOCK        ssh-agent, for keys that are behind it

Of git's own variables those are passed on that say where the repository is
(GIT_DIR, GIT_WORK_TREE, GIT_OBJECT_DIRECTORY, …), which configuration counts
(GIT_CONFIG_*), and how to reach a remote (GIT_SSH_COMMAND, GIT_ASKPASS, …).

Settings (git config):

  handoff.agent        who acts, where init wrote nothing
  handoff.serves       further inboxes that this agent takes from
  handoff.pull         aliases that resume looks at (origin)
  handoff.lanes        needed: fetch no history of other handoffs; all: also in a
                       shallow clone, which otherwise means needed
  handoff.defaultRepo  alias that "--to AGENT" means; this repository if unset
  handoff.archive      true: the receiver keeps ended handoffs, here
  handoff.publish      false: init leaves the public key out of the hub
  handoff.policyRef    where .githandoff.yaml is read (origin/HEAD, else HEAD)
  handoff.enforce      false: a push outside of a held token is only warned of
  handoff.hookTimeout  seconds that git waits for a hook (5)
  handoff.sshShare     false: each git makes an ssh connection of its own
  handoff.hubUrl       of a guarded hub: URLs by which clients reach it
  handoffrepo.ALIAS.url   what "githandoff repo add" wrote; .id and .pinnedUrl
                       say which repository it was then, .alsoId its other ids

Who acts is the first of: --as, $GITHANDOFF_AGENT, what "githandoff init" wrote
for this work tree, handoff.agent.

Files, below the git directory that all work trees share:

  githandoff/trust.json    whose keys are believed in this repository
  githandoff/team/         lists of keys that were adopted from hubs
  githandoff/kept/         packs that are kept from a running git gc
  githandoff/used          tokens of handoffs that ended in this clone

and below that of each work tree:

  githandoff/agent, key    who acts here
  githandoff/claims/       what is held here, and steps that wait for a hub
  githandoff/draft.json    a draft that the post-commit hook sends`

const formatsTopic = `A document is recognised by its content, or named with --format (--from and --to
of convert). What comes in goes out in the same format as the same JSON value. It
may be a file of its own, or the last block labelled json of a Markdown file; the
text around the block is then the detail, if the format has none of its own.
A handoff of another system is refused rather than taken for one of these: with
--format it is taken, and what the format does not know is kept and shown.

  githandoff  our own envelope, whole or a draft of which any member but schema
              may be missing: {"schema":"githandoff/1","goal":"…"}
  kelos       {"version":1,"summary":"…","detail":"…","data":{…}}, in a file or
              in a log between ---KELOS_HANDOFF_START--- and
              ---KELOS_HANDOFF_END---; the last pair wins
  vox         version 1.0: session_id, source_agent, target_agent, goal,
              completed_steps, pending_blockers, relevant_files,
              cryptographic_obo_token; in .vox/handoffs only if you say so:
              emit -f FILE, resume --format vox >FILE
  metadata    the JSON block that ends an agent's Markdown output: agent,
              output_type, status, blocked_reason, attempted,
              handoff{next_agent, context}, …; only status must be there, and
              one that is none here is needs_review
  gsd         .planning/HANDOFF.json: version, next_action, context_notes, phase,
              completed_tasks, remaining_tasks, blockers, decisions, …; what is
              not in a commit is warned of
  ho          handoff_id, source{agent, phase}, target{agent, reason}, context,
              expectations, rollback

Limits: summary and goal 4,096 bytes each, detail and data together 65,536, five
relevant files, a whole document 131,072. Nothing is cut: what is over a limit is
refused (exit 6). Refused as well are raw conversations and secrets in known
shapes (exit 7): "githandoff validate" says where.

resume prints, besides these, "prompt": text for an agent, inside a fence that
says who signed it.`
