package dialect

import (
	"cmp"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// kelosVersion is the only version of the TaskHandoff type.
const kelosVersion = 1

func readKelos(d *document) handoff.Envelope {
	o := d.top()
	if v, ok := o.take("version"); ok && v != float64(kelosVersion) {
		o.refuse("version", fault.Malformed, "want %d, not %s", kelosVersion, literal(v))
	}
	if _, ok := o.take("summary"); !ok {
		o.refuse("summary", fault.Malformed, "required member is missing")
	}
	e := handoff.Envelope{
		Summary: o.text("summary", handoff.MaxSummary),
		Detail:  o.text("detail", handoff.MaxDetail),
		Data:    o.texts("data"),
	}
	if blank(e.Summary) {
		o.warn("summary", "is empty; use --goal to say what is to be done")
	}
	size := len(e.Detail)
	for k, v := range e.Data {
		size += len(k) + len(v)
	}
	if size > handoff.MaxDetailAndData {
		o.refuse("data", fault.TooLarge, "%d bytes with detail, limit %d", size, handoff.MaxDetailAndData)
	}
	return e
}

func writeKelos(e *handoff.Envelope) map[string]any {
	o := map[string]any{
		"version": float64(kelosVersion),
		"summary": cmp.Or(e.Summary, e.Goal),
	}
	set(o, "detail", e.Detail)
	data := make(map[string]any, len(e.Data))
	for k, v := range e.Data {
		data[k] = v
	}
	setObject(o, "data", data)
	return o
}
