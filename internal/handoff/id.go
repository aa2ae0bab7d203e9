package handoff

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
)

// ID names a handoff for life: "ho_" and 26 characters of lower-case Crockford
// base32, a ULID: 48 bits of Unix milliseconds, then 80 random bits.
type ID string

const (
	idPrefix  = "ho_"
	crockford = "0123456789abcdefghjkmnpqrstvwxyz"

	bodyLen = 26 // characters of an id after the prefix

	// IDLen is the length of an id.
	IDLen = len(idPrefix) + bodyLen

	laneLen = 2 // characters of a lane's name

	// MaxLanes is the largest number of lanes.
	MaxLanes = len(crockford) * len(crockford)

	// MinSuffix is the fewest last characters of an id a command takes.
	MinSuffix = 6
)

// Ambiguous refuses an argument that fits several handoffs.
func Ambiguous(arg string, ids ...ID) error {
	var hints []fault.Hint
	for _, id := range ids[:min(len(ids), fault.MaxHints)] {
		hints = append(hints, fault.Instead(arg, string(id)).Whole())
	}
	return fault.New(fault.Usage, fault.AmbiguousID, "%q means %s and %s", arg, ids[0], ids[1]).WithHints(hints...)
}

// NewID makes an id from the time and 80 bits of random.
func NewID(now time.Time, random io.Reader) (ID, error) {
	var entropy [10]byte
	if _, err := io.ReadFull(random, entropy[:]); err != nil {
		return "", fmt.Errorf("read random bits of an id: %w", err)
	}
	return makeID(now, entropy), nil
}

// DeriveID makes an id of the time and the parts alone: a child of the same parent and claim,
// or a draft read twice, gets the same id again.
func DeriveID(at time.Time, parts ...string) ID {
	sum := sha256.Sum256([]byte("githandoff id\x00" + strings.Join(parts, "\x00")))
	return makeID(at, [10]byte(sum[:10]))
}

func makeID(at time.Time, entropy [10]byte) ID {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(at.UnixMilli())<<16)
	copy(raw[6:], entropy[:])
	// 128 bits in 26 groups of five, the first group holding three.
	out := make([]byte, bodyLen)
	hi, lo := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	for i := range slices.Backward(out) {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return ID(idPrefix + string(out))
}

// ParseID accepts exactly the canonical spelling of an id.
func ParseID(s string) (ID, error) {
	if len(s) != IDLen || !strings.HasPrefix(s, idPrefix) {
		return "", fmt.Errorf("%+q is not a handoff id (ho_ and 26 characters)", Clip(s, maxShown))
	}
	body := s[len(idPrefix):]
	if body[0] > '7' {
		return "", fmt.Errorf("%q is not a handoff id (its time is out of range)", s)
	}
	for i := range len(body) {
		if strings.IndexByte(crockford, body[i]) < 0 {
			return "", fmt.Errorf("%q is not a handoff id (character %q)", s, body[i])
		}
	}
	return ID(s), nil
}

// Time returns the moment in the id, in UTC with a precision of 1 ms. It is the time of the
// maker's clock, not a proof.
func (id ID) Time() time.Time {
	var ms int64
	for _, c := range []byte(id[len(idPrefix) : len(idPrefix)+10]) {
		ms = ms<<5 | int64(strings.IndexByte(crockford, c))
	}
	return time.UnixMilli(ms).UTC()
}

// Lane returns the name of this id's lane: its last two characters.
func (id ID) Lane() string { return string(id[len(id)-laneLen:]) }

// IsLane reports whether a lane can have a name: whether an id can end in it.
func IsLane(name string) bool {
	return len(name) == laneLen && strings.Trim(name, crockford) == ""
}

// Lanes lists the names that lanes can have.
func Lanes() []string {
	var names []string
	for _, a := range crockford {
		for _, b := range crockford {
			names = append(names, string([]rune{a, b}))
		}
	}
	return names
}

// Matches reports whether arg, the whole id or at least MinSuffix of its last
// characters (an ellipsis before them is allowed), means this id.
func (id ID) Matches(arg string) bool {
	arg = strings.TrimPrefix(arg, "…")
	return string(id) == arg || (len(arg) >= MinSuffix && len(arg) <= bodyLen && strings.HasSuffix(string(id), arg))
}

// IDIn returns the id in the name of a ref, or in an id with other letters or spaces: what people
// copy in place of an id.
func IDIn(s string) (ID, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	id, err := ParseID(s[strings.LastIndexByte(s, '/')+1:])
	return id, err == nil
}

// Typed returns the spelling of an id, or of its last characters, that a person typed in capitals or
// with three dots; anything else as it is.
func Typed(s string) string {
	spelled := strings.ToLower(s)
	if tail, ok := strings.CutPrefix(spelled, "..."); ok {
		spelled = "…" + tail
	}
	if CheckSuffix(spelled) == nil {
		return spelled
	}
	return s
}

// CheckSuffix says why s cannot be the last characters of an id, or a whole one;
// nil if it can.
func CheckSuffix(s string) error {
	if _, err := ParseID(s); err == nil {
		return nil
	}
	tail := strings.TrimPrefix(s, "…")
	if len(tail) < MinSuffix || len(tail) > bodyLen || strings.Trim(tail, crockford) != "" {
		return fmt.Errorf("%+q is not a handoff id: want all of it, or at least %d of its last characters", Clip(s, maxShown), MinSuffix)
	}
	return nil
}

// Nobody stands in the place of an agent while a handoff waits for a decision: as the name of its inbox, and in
// Handoff-To. No agent can have this name.
const Nobody = "_"

// CheckAgent says why s cannot be an agent's name; nil if it can. The rule is
// narrower than git's rule for ref names.
func CheckAgent(s string) error { return checkName("agent", s, lower+digits, "a-z 0-9") }

// AgentLetters spells a name with the letters of an agent's: "-" stands for any other.
func AgentLetters(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(lower+digits+"._-", r) {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

// checkName checks a name that is made of some letters and digits, shown as in a message.
func checkName(what, s, letters, shown string) error {
	switch {
	case !spelled(s, letters, letters+"._-", 63):
		return fmt.Errorf("%s %+q: want 1 to 63 of %s . _ - and a letter or digit first", what, Clip(s, maxShown), shown)
	case strings.Contains(s, ".."), strings.HasSuffix(s, ".lock"), strings.HasSuffix(s, "."):
		return fmt.Errorf("%s %q: must not contain \"..\" or end in \".lock\" or \".\"", what, s)
	}
	return nil
}

// shortEnd is the least number of an id's last characters shown to people: 40 random bits,
// hardly ever the same twice among a million handoffs of one lane.
const shortEnd = 8

// Short returns an ellipsis and the last eight characters of an id, for a place where no other id
// is known. [Ends] makes sure an end means one handoff only.
func (id ID) Short() string { return end(id, shortEnd) }

// Ends are the shortest unambiguous ends of ids.
type Ends map[ID]string

// EndsOf finds them. Each has eight characters or more.
func EndsOf(ids []ID) Ends {
	ends := Ends{}
	for _, id := range ids {
		ends[id] = ""
	}
	sorted := slices.SortedFunc(maps.Keys(ends), func(a, b ID) int { return slices.Compare(backwards(a), backwards(b)) })
	length := make([]int, len(sorted))
	for i := range sorted { // in this order, the id with the longest common end is a neighbour
		length[i] = max(length[i], shortEnd)
		if i+1 < len(sorted) {
			n := common(sorted[i], sorted[i+1]) + 1
			length[i], length[i+1] = max(length[i], n), n
		}
	}
	for i, id := range sorted {
		ends[id] = end(id, length[i])
	}
	return ends
}

// Of returns the end of an id; the usual one if the id was not among the ids.
func (e Ends) Of(id ID) string {
	if known, ok := e[id]; ok {
		return known
	}
	return id.Short()
}

func end(id ID, n int) string {
	if len(id) != IDLen || n >= bodyLen {
		return string(id)
	}
	return "…" + string(id[len(id)-n:])
}

func backwards(id ID) []byte {
	b := []byte(id)
	slices.Reverse(b)
	return b
}

// common returns the number of last characters two ids share.
func common(a, b ID) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
