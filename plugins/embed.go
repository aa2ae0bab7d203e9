// Package plugins holds the plugin for Claude Code, Codex CLI and Copilot CLI, as a
// marketplace serves it and "githandoff setup" installs it.
package plugins

import "embed"

// Files is the directory githandoff, which is the plugin.
//
//go:embed all:githandoff
var Files embed.FS
