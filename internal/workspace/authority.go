package workspace

import "githandoff/internal/sign"

// As is the same workspace with another key: what a person signs at an agent's place
// of work. The agent stays the source.
func (d *Workspace) As(signer sign.Signer, actor string) *Workspace {
	engine := *d.Engine
	engine.Signer, engine.Actor = signer, actor
	other := *d
	other.Engine = &engine
	return &other
}
