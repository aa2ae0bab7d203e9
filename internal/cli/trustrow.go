package cli

import (
	"slices"
	"strings"
	"time"

	"githandoff/internal/cli/output"
	"githandoff/internal/sign"
)

// trustRow is the JSON object of a trusted key. Its members are stable.
type trustRow struct {
	KID         sign.KID   `json:"key"`                  // key id
	Fingerprint string     `json:"fingerprint"`          // fingerprint as people compare it
	Agents      []string   `json:"agents,omitempty"`     // names it acts under
	Roles       []string   `json:"roles,omitempty"`      // sender, recipient, root
	Principals  []string   `json:"principals,omitempty"` // people it speaks for
	MaxScope    [][]string `json:"max_scope,omitempty"`  // lists of scopes; each list binds
	From        string     `json:"from,omitempty"`       // start of the trust
	Until       string     `json:"until,omitempty"`      // end of the trust
	Retired     string     `json:"retired,omitempty"`    // time since which it is not trusted
	Revoked     bool       `json:"revoked,omitempty"`    // its owner revoked it
	Comment     string     `json:"comment,omitempty"`    // free text
	List        string     `json:"list,omitempty"`       // home of the team's list it comes from
}

func trustRowOf(k sign.Key, now time.Time) trustRow {
	e := k.Entry()
	return trustRow{
		Revoked: k.Revoked(now) != nil,
		KID:     e.KID, Fingerprint: sign.Fingerprint(e.KID), Agents: e.Agents, Roles: e.Roles, Principals: e.Principals,
		MaxScope: k.Limits(), From: e.From, Until: e.Until, Retired: e.Retired, Comment: e.Comment,
		List: k.List(),
	}
}

func (c *trustCommand) print(k sign.Key) {
	r := trustRowOf(k, c.Now())
	c.Result(r, func(t *output.Lines) {
		t.Line("%s\t%s", r.KID, r.says())
		t.Line("fingerprint: %s", r.Fingerprint)
	})
}

// says puts in a few words what a key may do.
func (r trustRow) says() string {
	words := []string{r.names()}
	if len(r.Roles) > 0 {
		words = append(words, "as "+strings.Join(r.Roles, ", "))
	}
	words = slices.DeleteFunc(append(words, r.limits()), func(s string) bool { return s == "" })
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, "; ")
}

// names returns the agents and the people of a key.
func (r trustRow) names() string { return strings.Join(slices.Concat(r.Agents, r.Principals), ", ") }

// limits returns the bounds of a key: scopes, times, and the list it comes from.
func (r trustRow) limits() string {
	var words []string
	add := func(label string, list ...string) {
		if s := strings.Join(list, ", "); s != "" {
			words = append(words, label+" "+s)
		}
	}
	for _, limit := range r.MaxScope {
		add("within", limit...)
	}
	add("from", r.From)
	add("until", r.Until)
	add("retired", r.Retired)
	if r.Revoked {
		words = append(words, "revoked by its owner")
	}
	add("by the list of", r.List)
	return strings.Join(words, "; ")
}
