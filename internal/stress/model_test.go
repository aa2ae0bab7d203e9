package stress

import "time"

// The two hubs. Only the first one ever goes away.
const (
	hubName   = "hub.git"
	otherName = "other.git"
)

func isHub(home string) bool { return home == hubName || home == otherName }

// job models one handoff by the rules of its life alone. It knows nothing of refs, commits and clones.
type job struct {
	id       string
	born     int    // number from machine.born
	parent   *job   // the handoff that this one continues; nil for none
	from, to string // agents
	origin   string // place where it was emitted
	home     string // "hub.git" or a place; "" while it waits for delivery
	dest     string // the home it is addressed to
	back     string // agent who gets a return if it fails; "" for nobody
	carries  string // content of its snapshot; "" for none
	expires  time.Time

	holder  string // place; "" if nobody holds it
	claim   int    // number of claims so far; a kept step belongs to one of them
	lease   time.Time
	term    time.Duration
	receipt string
	by      string   // place that wrote the receipt
	log     []string // without progress entries, which may be repeated
}

func (j *job) phase() string {
	switch {
	case j.receipt != "":
		return "ended"
	case j.home == "":
		return "queued"
	case j.holder != "":
		return "held"
	}
	return "open"
}

func (j *job) open() bool { return j.phase() == "open" || j.phase() == "held" }

func (j *job) offered() {
	j.home = j.dest
	j.log = append(j.log, "offered")
}

// free reports whether another agent than the holder may claim the handoff: by id as soon as the lease has run
// out, otherwise after twice the lease.
func (j *job) free(now time.Time, byID bool) bool {
	until := j.lease
	if !byID {
		until = until.Add(j.term)
	}
	return j.phase() == "open" || j.phase() == "held" && now.After(until)
}

// mayClaim reports whether an agent at a place may claim the handoff.
func (j *job) mayClaim(place, agent string, now time.Time, byID, late bool) bool {
	if j.phase() == "held" && j.holder == place {
		return true
	}
	return j.reaches(place) && j.to == agent && j.free(now, byID) && (late || !now.After(j.expires))
}

// reaches reports whether a place can reach the home.
func (j *job) reaches(place string) bool { return isHub(j.home) || j.home == place }

func (j *job) claimed(place string, now time.Time, lease time.Duration) {
	if j.holder == place {
		return // its own handoff is shown again
	}
	j.holder, j.claim = place, j.claim+1
	j.log = append(j.log, "claimed")
	j.renew(now, lease)
}

func (j *job) renew(now time.Time, lease time.Duration) {
	end := now.Add(lease)
	if now.Before(j.expires) && j.expires.Before(end) {
		end = j.expires
	}
	j.lease, j.term = end, end.Sub(now)
}

func (j *job) released() {
	j.holder = ""
	j.log = append(j.log, "released")
}

func (j *job) ended(event, by string) {
	j.holder, j.receipt, j.by = "", event, by
	j.log = append(j.log, event)
}

// mayWithdraw reports whether the source may revoke or reroute the handoff.
func (j *job) mayWithdraw(agent string, now time.Time) bool {
	return j.from == agent && j.open() && (j.holder == "" || now.After(j.lease))
}

// kept is a step that waits for the hub, with the claim that it belongs to.
type kept struct {
	event string
	claim int
	// rejects is set for a rejection: it belongs to no claim, and is dropped once there is one.
	rejects bool
}
