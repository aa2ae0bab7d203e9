// Package extensions holds the files by which Gemini CLI, OpenCode, Copilot CLI and
// Cursor call githandoff, one directory for each of them, and those that Claude Code is given
// only where its user asks for it.
package extensions

import "embed"

// Files is the tree below this directory.
//
//go:embed all:claude all:gemini all:opencode all:copilot all:cursor
var Files embed.FS
