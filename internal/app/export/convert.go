package export

import (
	"cmp"
	"time"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Conversion names the format to write. Its other members are for a document without them; they
// replace nothing.
type Conversion struct {
	Format               string
	Source, Target, Task string
}

// Convert writes a document in another format, with its token if the format has a place for one.
func Convert(draft *dialect.Draft, c Conversion) (doc []byte, warnings []string, err error) {
	if err := c.fill(&draft.Envelope); err != nil {
		return nil, nil, err
	}
	joinTexts(c.Format, &draft.Envelope)
	doc, warnings, err = draft.Export(c.Format)
	switch {
	case fault.CodeOf(err) == fault.Invalid:
		return nil, nil, fault.As(err).WithHints(fault.See("convert").Because("--as names its source, --target its receiver"))
	case err != nil || draft.Token == "":
		return doc, warnings, err
	case c.Format == dialect.Vox:
		doc, err = dialect.AddToken(doc, draft.Token)
		return doc, warnings, err
	}
	return doc, append(warnings, c.Format+" cannot say: cryptographic_obo_token"), nil
}

// fill adds to an envelope what its format needs. An id is derived from the content.
func (c *Conversion) fill(env *handoff.Envelope) error {
	if err := dialect.CheckFormat(c.Format); err != nil {
		return err
	}
	env.Task = cmp.Or(env.Task, c.Task)
	if env.Source.Agent == "" && handoff.CheckAgent(c.Source) == nil {
		env.Source.Agent = c.Source
	}
	if err := dialect.Check(c.Format, env); err != nil {
		return err
	}
	said, _, err := dialect.Export(dialect.Githandoff, env)
	if err != nil {
		return err
	}
	if c.Format != dialect.Githandoff && env.ID == "" {
		env.ID = handoff.DeriveID(time.UnixMilli(0), "convert", string(said))
	}
	if c.Target == "" || env.Target.Agent != nil {
		return nil
	}
	if err := handoff.CheckAgent(c.Target); err != nil {
		return fault.New(fault.Usage, fault.BadUsage, "--target: %v", err)
	}
	env.Target.Agent = &c.Target
	return nil
}
