package cli

import (
	"io"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
)

// message is the last message of an agent as a document; nil where it said nothing.
func (c *captureCommand) message() ([]byte, error) {
	var in io.Reader = c.Stdin
	if c.lastMessage != "-" {
		f, err := c.openFile(c.lastMessage)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	m, err := dialect.LastMessage(in)
	if err != nil {
		return nil, fault.As(err).WithHints(fault.Run("githandoff", "capture", "--help").Because("lists the clients whose output it reads"))
	}
	if m.Text != "" {
		return m.Document()
	}
	what := "the agent said nothing at its end"
	if m.Failed != "" {
		what = "the agent ended without a last message (" + m.Failed + ")"
	}
	if c.to != "" {
		return nil, fault.New(fault.NotFound, fault.NothingLeft, "%s: nothing is handed over", what).
			WithHints(fault.Run("githandoff", "emit", "--help").Because("shows how a handoff is written by hand"))
	}
	c.Say("githandoff: %s: nothing is printed", what)
	return nil, nil
}

// sayNothing tells a person where nothing was found. It is no failure.
func (c *captureCommand) sayNothing() {
	switch {
	case c.lastMessage != "": // message said more
	case c.fromLog != "":
		c.Say("githandoff: the log holds no handoff and no last message of an agent: nothing is handed over")
	default:
		c.Say("githandoff: nothing was left at %s: nothing is handed over", printable(c.leftPath()))
	}
}
