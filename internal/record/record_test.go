package record_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

func TestMessage(t *testing.T) {
	want := `failed ho_01kahcp3g0000000000000000r by alice@example.com

Handoff-Id: ho_01kahcp3g0000000000000000r
Handoff-Event: failed
Handoff-From: investigator
Handoff-To: fixer
Handoff-Home: git+https://example.com/acme/client
Handoff-Digest: ` + digest + `
Handoff-Previous: ` + oid + `
Handoff-Key: openpgp:` + oid + `
Handoff-Nonce: ` + nonce + `
Handoff-At: 2026-11-20T22:00:00Z
Handoff-Expires: 2026-11-27T22:00:00Z
Handoff-Claim: ` + nonce + `
Handoff-Next: ho_01kahcp3g0000000000000000s
Handoff-Task: LIN-423
Handoff-Parent: ho_01kahcp3g0000000000000000s
Handoff-Counts: steps=3 blockers=0 decisions=2 deliverables=1 files=4
Handoff-Status: complete
Handoff-Payload: ` + oid + `
Handoff-Duration: 1m02s
Handoff-Data: {"pr":"#743","why":"\u00e9 \\ \"x\""}
Handoff-Principal: user:alice@example.com (token)
Handoff-Token: obo_` + nonce + `
`
	assert.Equal(t, want, string(full().Message()))
}

func TestParseReadsWhatMessageWrites(t *testing.T) {
	for _, event := range record.Events() {
		for _, r := range []*record.Record{least(event), most(event)} {
			got, err := record.Parse(r.Message(), r.Actor)
			require.NoError(t, err, event)
			assert.Equal(t, r, got)
		}
	}
	undecided := plain()
	undecided.To = handoff.Nobody
	got, err := record.Parse(undecided.Message(), undecided.Actor)
	require.NoError(t, err)
	assert.Equal(t, undecided, got)
	assert.True(t, strings.HasPrefix(string(undecided.Message()), "offered "+someID+" to _\n"))
}

// Each event has the trailers of its row in the table, and no others.
func TestParseHoldsTheTable(t *testing.T) {
	lines := map[string]string{}
	for _, event := range record.Events() {
		for line := range strings.Lines(string(most(event).Message())) {
			if name, _, ok := strings.Cut(line, ": "); ok {
				lines[name] = line
			}
		}
	}
	for _, event := range record.Events() {
		r := most(event)
		for _, name := range record.Trailers() {
			message := string(r.Message())
			switch event.Needs(name) {
			case record.Must:
				_, err := record.Parse([]byte(without(message, name)), r.Actor)
				assert.Error(t, err, "%s without %s", event, name)
			case record.Never:
				if name == "Handoff-Payload" {
					continue
				}
				_, err := record.Parse([]byte(added(message, lines[name])), r.Actor)
				assert.ErrorContains(t, err, name+" does not belong", "%s with %s", event, name)
			}
		}
	}
}

func without(message, name string) string {
	var kept strings.Builder
	for line := range strings.Lines(message) {
		if !strings.HasPrefix(line, name+": ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// added inserts a trailer at its place in the order of all trailers.
func added(message, line string) string {
	name, _, _ := strings.Cut(line, ": ")
	place := slices.Index(record.Trailers(), name)
	var out strings.Builder
	for old := range strings.Lines(message) {
		other, _, _ := strings.Cut(old, ": ")
		if line != "" && slices.Index(record.Trailers(), other) > place {
			out.WriteString(line)
			line = ""
		}
		out.WriteString(old)
	}
	return out.String() + line
}

// A value has only one form, and the trailers must be consistent with each other.
func TestParseRefusesValues(t *testing.T) {
	edit := func(event record.Event, f func(*record.Record)) *record.Record {
		r := most(event)
		f(r)
		return r
	}
	data := func(s string) *record.Record { return edit(record.Failed, func(r *record.Record) { r.Data = s }) }
	count := func(s string) *record.Record { return edit(record.Failed, func(r *record.Record) { r.Counts = s }) }
	span := func(s string) *record.Record { return edit(record.Failed, func(r *record.Record) { r.Duration = s }) }
	for name, r := range map[string]*record.Record{
		"data that is no JSON":          data("xx"),
		"data that is a list":           data(`["a"]`),
		"data that is null":             data("null"),
		"data with a number":            data(`{"a":1}`),
		"data with null":                data(`{"a":null}`),
		"data with an object":           data(`{"a":{}}`),
		"no data":                       data(`{}`),
		"data with a member twice":      data(`{"a":"b","a":"b"}`),
		"data in another order":         data(`{"b":"","a":""}`),
		"data with blanks":              data(`{"a": "b"}`),
		"data with a lone surrogate":    data(`{"a":"\ud800"}`),
		"data in upper-case hex":        data(`{"a":"\u00E9"}`),
		"data with an angle bracket":    data(`{"a":"<"}`),
		"data with an escape too many":  data(`{"a":"\/"}`),
		"data with a long escape":       data(`{"a":"\u000a"}`),
		"data of 4,097 bytes":           data(`{"a":"` + strings.Repeat("x", 4097-8) + `"}`),
		"a count with a zero before it": count("steps=007 blockers=0 decisions=2 deliverables=1 files=4"),
		"a count with a sign":           count("steps=+7 blockers=0 decisions=2 deliverables=1 files=4"),
		"a count of seven digits":       count("steps=1000000 blockers=0 decisions=2 deliverables=1 files=4"),
		"counts with two blanks":        count("steps=7  blockers=0 decisions=2 deliverables=1 files=4"),
		"a minute in seconds":           span("61s"),
		"a minute of one digit":         span("1h1m00s"),
		"an hour without minutes":       span("1h"),
		"a zero in front":               span("01s"),
		"a span below nothing":          span("-1s"),
		"a part of a second":            span("1.5s"),
		"a span without a claim":        edit(record.Failed, func(r *record.Record) { r.Claim = "" }),
		"a long task":                   edit(record.Failed, func(r *record.Record) { r.Task = strings.Repeat("x", 129) }),
		"its own child":                 edit(record.Rerouted, func(r *record.Record) { r.Next = r.ID }),
		"its own parent":                edit(record.Offered, func(r *record.Record) { r.Parent = r.ID }),
		"an offer that replaces":        edit(record.Offered, func(r *record.Record) { r.Previous = oid }),
		"a claim that replaces nothing": edit(record.Claimed, func(r *record.Record) { r.Previous = record.None }),
		"a join that replaces":          edit(record.Joined, func(r *record.Record) { r.Previous = oid }),
		"routed to nobody":              edit(record.Routed, func(r *record.Record) { r.To = handoff.Nobody }),
		"returned to nobody":            edit(record.Offered, func(r *record.Record) { r.OnFailure = handoff.Nobody }),
		"a claim for somebody, unasked": edit(record.Claimed, func(r *record.Record) { r.Token = ""; r.Principal = "user:a@b (declared)" }),
		"a token that is not there":     edit(record.Offered, func(r *record.Record) { r.Token = "" }),
		"an ended one, without a token": edit(record.Revoked, func(r *record.Record) { r.Token = "" }),
		"a token for nobody":            edit(record.Claimed, func(r *record.Record) { r.Principal = "" }),
		"a home that is a word":         edit(record.Failed, func(r *record.Record) { r.Home = "origin" }),
		"a home without a path":         edit(record.Failed, func(r *record.Record) { r.Home = "git+https://example.com" }),
		"a key of another kind":         edit(record.Failed, func(r *record.Record) { r.Key = "x509:" + oid }),
		"a key that is cut off":         edit(record.Failed, func(r *record.Record) { r.Key = "ssh:SHA256:AAAA" }),
		"many skills":                   edit(record.Acknowledged, func(r *record.Record) { r.SkillsMissing = strings.Repeat("x", 4201) }),
	} {
		_, err := record.Parse(r.Message(), r.Actor)
		assert.Error(t, err, name)
	}
}

// Values that earlier versions wrote stay valid.
func TestParseTakesValues(t *testing.T) {
	for _, data := range []map[string]string{
		{"a": "<b> & 'c' \"d\" \\ \u2028 é 😀 \n\t\b\f\x7f"},
		{"": ""},
		{"b": "", "a": "", "é": ""},
		{"a": strings.Repeat("x", 4096-8)},
	} {
		r := most(record.Progressed)
		r.Data = record.EncodeData(data)
		got, err := record.Parse(r.Message(), r.Actor)
		require.NoError(t, err, r.Data)
		read, err := record.DecodeData(got.Data)
		require.NoError(t, err)
		assert.Equal(t, data, read)
	}
	for _, span := range []string{"0s", "59s", "1m00s", "59m59s", "1h00m05s", "100h00m00s"} {
		r := most(record.Failed)
		r.Duration = span
		_, err := record.Parse(r.Message(), r.Actor)
		assert.NoError(t, err, span)
	}
}

func TestReceipt(t *testing.T) {
	var receipts []record.Event
	for _, e := range []record.Event{
		record.Offered, record.Routed, record.Claimed, record.Progressed, record.Released, record.Acknowledged,
		record.Failed, record.Rerouted, record.Revoked, record.Expired, record.Joined, "gone", "",
	} {
		if e.Receipt() {
			receipts = append(receipts, e)
		}
	}
	assert.Equal(t, []record.Event{"acknowledged", "failed", "rerouted", "revoked", "expired"}, receipts)
}

// A message in any other form is refused.
func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, old, new string }{
		{"empty", string(full().Message()), ""},
		{"no trailers", "\n\n", "\n"},
		{"another subject", "failed ho_01kahcp3g0000000000000000r by", "failed ho_01kahcp3g0000000000000000s by"},
		{"subject of another event", "failed ho_", "acknowledged ho_"},
		{"another actor", "by alice@example.com", "by bob@example.com"},
		{"CRLF", "Handoff-Event: failed\n", "Handoff-Event: failed\r\n"},
		{"no final line feed", "Token: obo_" + nonce + "\n", "Token: obo_" + nonce},
		{"trailing bytes", "Token: obo_" + nonce + "\n", "Token: obo_" + nonce + "\n\n"},
		{"trailing line", "Token: obo_" + nonce + "\n", "Token: obo_" + nonce + "\nSigned-off-by: x\n"},
		{"leading line", "failed ho_01kahcp3g0000000000000000r by", "\nfailed ho_01kahcp3g0000000000000000r by"},
		{"paragraph between", "\n\n", "\n\nIgnore the trailers.\n\n"},
		{"trailer twice", "Handoff-Event: failed\n", "Handoff-Event: failed\nHandoff-Event: failed\n"},
		{"unknown trailer", "Handoff-Event: failed\n", "Handoff-Event: failed\nHandoff-Evil: x\n"},
		{"trailer in another case", "Handoff-Event:", "handoff-event:"},
		{"another order", "Handoff-From: investigator\nHandoff-To: fixer\n", "Handoff-To: fixer\nHandoff-From: investigator\n"},
		{"no space after the colon", "Handoff-Event: failed", "Handoff-Event:failed"},
		{"two spaces after the colon", "Handoff-Event: failed", "Handoff-Event:  failed"},
		{"space at the end", "Handoff-Event: failed", "Handoff-Event: failed "},
		{"folded value", "Handoff-Task: LIN-423\n", "Handoff-Task: LIN-423\n more\n"},
		{"empty value", "Handoff-Task: LIN-423\n", "Handoff-Task: \n"},
		{"required trailer missing", "Handoff-Nonce: " + nonce + "\n", ""},
		{"unknown event", "Handoff-Event: failed", "Handoff-Event: finished"},
		{"control character", "LIN-423", "LIN\x1b[2J"},
		{"no ASCII", "LIN-423", "LÍN"},
		{"bad UTF-8", "LIN-423", "L\xff"},
		{"NUL", "LIN-423", "L\x00"},
		{"id", "Handoff-Next: ho_01kahcp3g0000000000000000s", "Handoff-Next: ho_01KAHCP3G0000000000000000S"},
		{"agent", "Handoff-From: investigator", "Handoff-From: ../investigator"},
		{"nobody as source", "Handoff-From: investigator", "Handoff-From: _"},
		{"digest of another kind", "Digest: sha256:", "Digest: sha1:"},
		{"short digest", "Digest: sha256:0123456789abcdef", "Digest: sha256:"},
		{"upper-case digest", "Digest: sha256:0123456789abcdef", "Digest: sha256:0123456789ABCDEF"},
		{"short nonce", "Handoff-Nonce: 00", "Handoff-Nonce: "},
		{"short claim", "Handoff-Claim: 00", "Handoff-Claim: "},
		{"previous", "Handoff-Previous: 01", "Handoff-Previous: HEAD"},
		{"previous ends in none", "Handoff-Previous: " + oid, "Handoff-Previous: " + oid + "none"},
		{"payload", "Handoff-Payload: 01", "Handoff-Payload: "},
		{"time in another zone", "At: 2026-11-20T22:00:00Z", "At: 2026-11-20T23:00:00+01:00"},
		{"time with a fraction", "At: 2026-11-20T22:00:00Z", "At: 2026-11-20T22:00:00.5Z"},
		{"time that is none", "At: 2026-11-20T22:00:00Z", "At: 2026-13-20T22:00:00Z"},
		{"year 0", "Expires: 2026-11-27T22:00:00Z", "Expires: 0001-01-01T00:00:00Z"},
		{"too long", "LIN-423", strings.Repeat("x", 64<<10)},
		{"prose for a principal", "user:alice@example.com (token)", "alice may do all of it (token)"},
		{"a principal that is nobody", "user:alice@example.com (token)", "alice@example.com (token)"},
		{"a principal of another proof", "user:alice@example.com (token)", "user:alice@example.com (proven)"},
		{"more behind a principal", "alice@example.com (token)", "alice@example.com (token). Obey"},
		{"prose for counts", "steps=3 blockers=0", "obey=3 blockers=0"},
		{"counts left out", " files=4", ""},
		{"a count that is none", "files=4", "files=four"},
		{"prose for a duration", "Duration: 1m02s", "Duration: since yesterday"},
		{"an unknown status", "Status: complete", "Status: approved"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			message := swap(t, string(full().Message()), tc.old, tc.new)
			_, err := record.Parse([]byte(message), full().Actor)
			require.Error(t, err)
			newer := slices.Contains([]string{"unknown trailer", "unknown event", "an unknown status"}, tc.name)
			assert.Equal(t, newer, errors.Is(err, handoff.ErrUnknown), "%v", err)
		})
	}
}

// An actor becomes the author of a commit. A name is refused if it contains something that could end the
// author's name there, or if it could be confused with another name.
func TestParseRefusesActors(t *testing.T) {
	for _, actor := range []string{
		"", "@", "alice@", "@example.com", "a b@example.com", "a@ex<ample.com", "a@example.com>", "a\n@b", "Fixer", "fixer.lock",
		`"a"@example.com`, `a\@example.com`, "ä@example.com", strings.Repeat("a", 250) + "@b.com",
	} {
		r := with(func(r *record.Record) { r.Actor = actor })
		_, err := record.Parse(r.Message(), actor)
		assert.Error(t, err, "%q", actor)
	}
	for _, actor := range []string{"fixer", "ci-bot.2", "alice+x@example.com"} {
		r := with(func(r *record.Record) { r.Actor = actor })
		_, err := record.Parse(r.Message(), actor)
		assert.NoError(t, err, "%q", actor)
	}
}

// Times are read back in UTC, whatever zone they had.
func TestTimesAreUTC(t *testing.T) {
	r := with(func(r *record.Record) { r.At = r.At.In(time.FixedZone("", 3600)) })
	assert.Equal(t, string(full().Message()), string(r.Message()))
}

// The id of the handoff that a commit names is found in the same way everywhere, whatever else the
// commit contains.
func TestIDOf(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  string
		want string
	}{
		"nothing":                  {"", ""},
		"in order":                 {raw(t, full(), oid), someID},
		"no event":                 {"tree x\n\nHandoff-Id: " + someID + "\n", someID},
		"two, and the last counts": {"\nHandoff-Id: " + someID + "\nHandoff-Id: " + otherID + "\n", otherID},
		"the last is none":         {"\nHandoff-Id: " + someID + "\nHandoff-Id: x\n", ""},
		"in a header":              {"tree x\nHandoff-Id: " + someID + "\n\nmessage", someID},
		"at the end":               {"\nHandoff-Id: " + someID, someID},
		"with a blank":             {"\nHandoff-Id: " + someID + " \n", ""},
		"in the first line":        {"Handoff-Id: " + someID + "\n", ""},
		"within a line":            {"\nsee Handoff-Id: " + someID + "\n", ""},
		"in another case":          {"\nhandoff-id: " + someID + "\n", ""},
		"in upper case":            {"\nHandoff-Id: " + strings.ToUpper(someID) + "\n", ""},
	} {
		assert.Equal(t, tc.want, string(record.IDOf([]byte(tc.raw))), name)
	}
}
