package dialect

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/screen"
)

// The names of the formats, as the flag --format takes them.
const (
	Githandoff = "githandoff"
	Kelos      = "kelos"
	Vox        = "vox"
	Metadata   = "metadata"
	HO         = "ho"
	GSD        = "gsd"
)

// Draft is the content of a document about a handoff. The sender fills in the
// missing members (an id, a salt, a time, often a status or an agent), and
// validates the whole.
type Draft struct {
	Format   string // format of the document
	Envelope handoff.Envelope
	Token    string   // text of cryptographic_obo_token, for [DecodeToken]; "" if none
	Warnings []string // one line for each tolerated error or missing member
	Around   string   // text of a Markdown file before and after its block; see [Draft.TakeAround]

	native map[string]any // the source document if its format is [Githandoff]; else nil
}

// codec reads and writes one dialect. A dialect is a JSON object whose members
// read copies into an envelope and write takes from one. It has neither for an envelope itself.
type codec struct {
	format string
	wrote  string // JSON pointer of the member that names the writer; "" if the format has none
	// read maps every member it can, and records refusals and warnings in d. It
	// goes on after a refusal.
	read func(d *document) handoff.Envelope
	// write is the inverse of read for the members both sides have.
	write func(e *handoff.Envelope) map[string]any
}

func codecs() []codec {
	return []codec{
		{format: Githandoff},
		{format: Kelos, read: readKelos, write: writeKelos},
		{format: Vox, wrote: "/source_agent", read: readVox, write: writeVox},
		{format: Metadata, wrote: "/agent", read: readMetadata, write: writeMetadata},
		{format: HO, wrote: "/source/agent", read: readHO, write: writeHO},
		{format: GSD, read: readGSD, write: writeGSD},
	}
}

// Formats lists the names of the formats.
func Formats() []string {
	var names []string
	for _, c := range codecs() {
		names = append(names, c.format)
	}
	return names
}

// CheckFormat refuses an unknown format, with [fault.Usage]. More are formats of the caller's own.
func CheckFormat(name string, more ...string) error {
	if all := append(Formats(), more...); !slices.Contains(all, name) {
		return fault.New(fault.Usage, fault.UnknownFormat, "unknown format %q", name).
			WithHints(fault.Fact("the formats are %s", strings.Join(all, ", ")))
	}
	return nil
}

func codecOf(format string) (codec, error) {
	for _, c := range codecs() {
		if c.format == format {
			return c, nil
		}
	}
	return codec{}, CheckFormat(format)
}

// Import reads a document in the given format; "" detects it. It enforces the demands of the
// format itself, by the names of its members, and refuses a document no sender could complete
// to a valid envelope.
//
// Refusals have the code [fault.Invalid], but for an unknown format ([fault.Usage]) and a
// bearer token of another system ([fault.Denied]).
func Import(format string, b []byte) (*Draft, error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if format != "" {
		if err := CheckFormat(format); err != nil {
			return nil, err
		}
	}
	src, err := findJSON(b, format == "" || format == Kelos)
	if err != nil {
		return nil, err
	}
	told := guess{format: format, sure: true}
	if format == "" {
		if told, err = detect(b, src); err != nil {
			return nil, err
		}
	}
	if src.json == nil {
		return nil, invalid(told.format, fault.Malformed, "document: %w", noText(b))
	}
	d, err := read(told.format, src)
	if err != nil {
		return nil, told.qualify(err)
	}
	d.Format, d.Around = told.format, src.around
	return d, nil
}

// read reads the JSON text of a document of the given format.
func read(format string, src source) (*Draft, error) {
	if format == Githandoff {
		return importNative(src)
	}
	root, err := parse(format, src)
	if err != nil {
		return nil, err
	}
	c, err := codecOf(format)
	if err != nil {
		return nil, err
	}
	d := newDocument(format, root)
	e := c.read(d)
	if err := d.checkSpelling(); err != nil {
		return nil, err
	}
	if d.err != nil {
		return nil, d.err
	}
	extra, err := extraOf(c, d, e)
	if err != nil {
		return nil, err
	}
	e.Origin = &handoff.Origin{Format: format, Extra: extra}
	if err := Check(format, &e); err != nil {
		return nil, err
	}
	return &Draft{Envelope: e, Token: d.token, Warnings: d.warnings}, nil
}

// TakeAround makes the text around the block of a Markdown file the detail of the
// handoff: the block says little about the agent's findings. It refuses, and changes
// nothing, if the format of the block has a detail of its own, which must come
// back as it was, if the text is over the limit, or if the content policy refuses it.
func (d *Draft) TakeAround() error {
	switch {
	case d.Around == "":
		return nil
	case d.Format == Githandoff || d.Format == Kelos || d.Format == GSD || d.Envelope.Detail != "":
		return fault.New(fault.Invalid, fault.HasDetail, "a document of the format %s has a detail of its own", d.Format)
	case len(d.Around) > handoff.MaxDetail:
		return fault.New(fault.Invalid, fault.TooLarge, "a detail holds %d bytes", handoff.MaxDetail)
	}
	if err := screen.Text("detail", d.Around); err != nil {
		return err
	}
	d.Envelope.Detail, d.Around = d.Around, ""
	return nil
}

// Check refuses a draft no sender could complete to a valid envelope, in the words of the
// envelope. The refusal names the format.
func Check(format string, e *handoff.Envelope) error {
	whole := complete(*e)
	if err := whole.Validate(); err != nil {
		return inFormat(format, err)
	}
	return nil
}

// complete returns e with every required member filled.
func complete(e handoff.Envelope) handoff.Envelope {
	const anyTime = "2000-01-01T00:00:00Z"
	e.Schema = handoff.Schema
	e.ID = cmp.Or(e.ID, handoff.DeriveID(time.UnixMilli(0)))
	e.CreatedAt = cmp.Or(e.CreatedAt, anyTime)
	e.Salt = cmp.Or(e.Salt, strings.Repeat("0", 32))
	e.Source.Agent = cmp.Or(e.Source.Agent, "unknown")
	e.Status = cmp.Or(e.Status, handoff.StatusComplete)
	if blank(e.Goal) && blank(e.Summary) {
		e.Goal = "unknown"
	}
	switch e.Status {
	case handoff.StatusBlocked:
		e.BlockedReason = cmp.Or(e.BlockedReason, "unknown")
		e.Attempted = append([]string{"unknown"}, e.Attempted...)
	case handoff.StatusNeedsClarification:
		if len(e.Questions) == 0 {
			e.Questions = []handoff.Question{{Question: "unknown"}}
		}
	}
	return e
}

// Export writes the envelope in the given format, in canonical form without a final newline,
// with warnings about the members the format cannot hold. An envelope imported from the same
// format gives the same JSON value back, except for members changed since.
//
// The result can be imported again. Export refuses with [fault.Invalid] if the envelope has
// nothing for a member the format requires.
func Export(format string, e *handoff.Envelope) (doc []byte, warnings []string, err error) {
	c, err := codecOf(format)
	if err != nil {
		return nil, nil, err
	}
	if format == Githandoff {
		doc, err = exportNative(e)
		return doc, nil, err
	}
	root := c.write(e)
	if e.Origin != nil && e.Origin.Format == format {
		root, warnings = restore(c, e, root)
	}
	d := newDocument(format, root)
	said := c.read(d)
	if d.err != nil {
		return nil, nil, d.err
	}
	lost, err := lostMembers(format, e, &said)
	if err != nil {
		return nil, nil, err
	}
	if len(lost) > 0 {
		warnings = append(warnings, format+" cannot say: "+strings.Join(lost, ", "))
	}
	doc, err = handoff.Canonical(root)
	if err != nil {
		return nil, nil, err
	}
	return doc, slices.Clip(warnings), nil
}
