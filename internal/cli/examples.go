package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// withExamples gives each command without examples its own.
func withExamples(root *cobra.Command) {
	all := examples()
	each(root, func(cmd *cobra.Command) {
		if lines := all[pathOf(cmd)]; cmd.Example == "" && len(lines) > 0 {
			cmd.Example = "  githandoff " + strings.Join(lines, "\n  githandoff ")
		}
	})
}

// examples are command lines, without "githandoff", by the words of their command.
func examples() map[string][]string {
	return map[string][]string{
		"validate":           {"validate handoff.json"},
		"inbox":              {"inbox", "inbox --all --json"},
		"show":               {"show 7k3m2q", "show 7k3m2q --json"},
		"resume":             {"resume", "resume --wait 10m", "resume 7k3m2q --worktree"},
		"progress":           {"progress -m 'the test fails as it should'"},
		"hold":               {"hold -- make integration-test", "hold --lease 2h 7k3m2q -- ./train.sh"},
		"work":               {"work show 7k3m2q"},
		"work show":          {"work show 7k3m2q"},
		"work diff":          {"work diff 7k3m2q"},
		"work apply":         {"work apply 7k3m2q"},
		"work export":        {"work export 7k3m2q --bundle work.bundle", "work export 7k3m2q --patch work.patch"},
		"release":            {"release", "release --force 7k3m2q"},
		"ack":                {"ack --summary 'sessions are renewed' --result pr=17"},
		"fail":               {"fail --reason 'the database is read-only here'"},
		"reroute":            {"reroute 7k3m2q --to reviewer@origin"},
		"revoke":             {"revoke 7k3m2q --reason 'not needed any more'"},
		"sync":               {"sync", "sync origin"},
		"board":              {"board"},
		"status":             {"status", "status --json"},
		"audit":              {"audit --since 7d", "audit --task LIN-423 --json"},
		"verify":             {"verify", "verify 7k3m2q"},
		"gc":                 {"gc --dry-run", "gc --expired"},
		"key":                {"key show"},
		"key generate":       {"key generate alice@example.com"},
		"key passphrase":     {"key passphrase alice@example.com"},
		"key show":           {"key show", "key show fixer"},
		"key export":         {"key export >fixer.asc", "key export --to origin"},
		"trust":              {"trust list"},
		"trust list":         {"trust list", "trust list --json"},
		"trust remove":       {"trust remove openpgp:949c14597a7afbde99da837d71097450ad04d64d"},
		"trust export":       {"trust export /tmp/keys", "trust export --to origin"},
		"trust review":       {"trust review", "trust review --json"},
		"obo":                {"obo show"},
		"obo issue":          {"obo issue 7k3m2q --on-behalf-of alice@example.com --scope 'repo.write:src/auth/*'"},
		"obo show":           {"obo show", "obo show 7k3m2q --json"},
		"obo check":          {"obo check --scope repo.write:go.mod"},
		"skills":             {"skills check 7k3m2q"},
		"skills check":       {"skills check 7k3m2q"},
		"init":               {"init", "init --as fixer --hooks"},
		"repo":               {"repo list"},
		"repo add":           {"repo add client https://example.com/acme/client.git"},
		"repo list":          {"repo list"},
		"repo remove":        {"repo remove client"},
		"checkpoint":         {"checkpoint list"},
		"checkpoint list":    {"checkpoint list"},
		"checkpoint restore": {"checkpoint restore 7k3m2q --branch before"},
		"doctor":             {"doctor", "doctor origin", "doctor --fix"},
		"version":            {"version", "version --json"},
		"hook":               {"hook status"},
		"hook install":       {"hook install", "-C /srv/git/client.git hook install --server"},
		"hook uninstall":     {"hook uninstall"},
		"hook status":        {"hook status"},
		"help":               {"help emit", "help agents"},
	}
}
