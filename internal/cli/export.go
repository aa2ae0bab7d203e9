package cli

import (
	"errors"
	"slices"
	"strings"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// exported is a document as it is printed: with a line end, and counted.
func (s *presenter) exported(format string, v *lifecycle.Verified) ([]byte, error) {
	doc, warnings, err := export(format, v)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.Warn(errors.New(w))
	}
	doc = append(doc, '\n')
	s.Cost(len(doc))
	return doc, nil
}

// export writes a handoff in another format, with its token where that format
// has a place for one: it is worth nothing without the receiver's key.
func export(format string, v *lifecycle.Verified) (doc []byte, warnings []string, err error) {
	env := *v.Envelope()
	bearing := format == dialect.Vox && v.Token() != nil
	if bearing {
		env.OBO = nil // said by the token itself
	}
	tell(format, &env)
	if to := v.State().To; format == dialect.Vox && env.Target.Agent == nil && to != refs.Nobody {
		env.Target.Agent = &to // was decided since, and must be said
	}
	doc, warnings, err = dialect.Export(format, &env)
	if fault.CodeOf(err) == fault.Invalid && env.Target.Agent == nil {
		err = fault.As(err).WithHints(fault.Run("githandoff", "route", string(v.Offer().ID)).Because("it needs a decision before an agent can take it"))
	}
	if err == nil && bearing {
		links := v.Links()
		leaf := links[len(links)-1]
		doc, err = dialect.AddToken(doc, dialect.EncodeToken(leaf.Token, leaf.Sig))
	}
	return doc, warnings, err
}

// tell puts goal and summary into the one text that some formats have for both, as
// far as it holds them: who works from it must not miss the findings, or the
// feedback. A document that came in that format goes out as it came.
func tell(format string, env *handoff.Envelope) {
	texts := []string{env.Goal, env.Summary}
	switch {
	case env.Origin != nil && env.Origin.Format == format:
		return
	case format == dialect.HO:
		texts = append([]string{env.Target.Reason}, texts...)
	case format != dialect.Vox && format != dialect.Metadata:
		return
	}
	texts = slices.Compact(slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" }))
	all := strings.Join(texts, "\n\n")
	if len(all) > handoff.MaxSummary {
		return
	}
	env.Goal, env.Summary = all, ""
	if format == dialect.HO {
		env.Target.Reason = all
	}
}
