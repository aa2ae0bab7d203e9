package agentsetup

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// addTable adds our server to a configuration of Codex CLI, unless somebody else entered it
// there. A table may stand at the end of any document that does not hold all servers in one
// value. A document that is not TOML is refused: Codex CLI would not read our table either.
func (c *Change) addTable(text []byte, block string) error {
	servers, err := codexServers(text)
	if err != nil {
		return c.malformed(err)
	}
	if _, there := servers["githandoff"]; there && !bytes.Contains(text, []byte(firstLine(block))) {
		c.after = c.before
		return nil
	}
	c.addBlock(text, block)
	if _, err := codexServers(c.after); err != nil {
		return c.malformed(errors.New("mcp_servers is an inline table, and TOML allows no additions to one: write it as tables first"))
	}
	return nil
}

// codexServers returns the servers in a configuration of Codex CLI, by their names.
func codexServers(config []byte) (map[string]any, error) {
	var c struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	err := toml.Unmarshal(bytes.TrimPrefix(config, []byte("\uFEFF")), &c) // Codex CLI skips a byte order mark as well
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := at.Position()
		return nil, fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return c.Servers, err
}
