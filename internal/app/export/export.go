// Package export writes a verified handoff, or a document, in the format of another system.
package export

import (
	"slices"
	"strings"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// Document writes a handoff in another format, with its token if the format has a place for one.
// The token is worth nothing without the receiver's key.
func Document(format string, v *lifecycle.Verified) (doc []byte, warnings []string, err error) {
	env := *v.Envelope()
	bearing := format == dialect.Vox && v.Token() != nil
	if bearing {
		env.OBO = nil // the token in the document says the same
	}
	joinTexts(format, &env)
	if to := v.State().To; format == dialect.Vox && env.Target.Agent == nil && to != handoff.Nobody {
		env.Target.Agent = &to // the receiver was decided after the offer
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

// joinTexts puts goal and summary into the single text of some formats, if they fit: an agent
// working from it must not miss the findings or the feedback. A document received in such a
// format goes out unchanged.
func joinTexts(format string, env *handoff.Envelope) {
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
