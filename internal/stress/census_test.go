package stress

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/gittest"
)

// life is everything that a set of repositories records about one handoff.
type life struct {
	refs   []string // "repo kind", one for each ref; tracking copies left out
	events []string // "repo event", in the order of that repository's lane
	actors []string // actors of the events, in the same order

	offers []string // "repo nonce"
	next   string   // id of the handoff that continues this one
}

// offeredAgain is the census's name for a repeated offer with the same nonce: its home had the offer in its log,
// and had lost the handoff.
const offeredAgain = "offered-again"

// receipts are the events that end a handoff.
var receipts = []string{"acknowledged", "failed", "rerouted", "revoked", "expired"}

func (l *life) receipts() (n int) {
	for _, e := range l.events {
		if slices.Contains(receipts, strings.Fields(e)[1]) {
			n++
		}
	}
	return n
}

func (l *life) count(what string) (n int) {
	for _, e := range slices.Concat(l.refs, l.events) {
		if strings.HasSuffix(e, " "+what) {
			n++
		}
	}
	return n
}

// holder returns the agent whose claim is in force, or "" if the handoff is free.
func (l *life) holder() string {
	who := ""
	for i, e := range l.events {
		switch event := strings.Fields(e)[1]; {
		case event == "claimed":
			who = l.actors[i]
		case event == "released", slices.Contains(receipts, event):
			who = ""
		}
	}
	return who
}

// census reads the lives of all handoffs in some repositories, each taken as a home. It reads refs and commits
// with git alone.
func census(t testing.TB, repos ...*gittest.Repo) map[string]*life {
	t.Helper()
	all := map[string]*life{}
	of := func(id string) *life {
		if all[id] == nil {
			all[id] = &life{}
		}
		return all[id]
	}
	for _, repo := range repos {
		name := filepath.Base(repo.Dir)
		for ref := range strings.Lines(repo.Git(t, "for-each-ref", "--format=%(refname)", inbox, outbox, sent)) {
			part := strings.Split(strings.TrimSpace(ref), "/")
			of(part[4]).refs = append(of(part[4]).refs, name+" "+part[2])
		}
		tips := strings.Fields(repo.Git(t, "for-each-ref", "--format=%(objectname)", lanes))
		if len(tips) == 0 {
			continue
		}
		log := repo.Git(t, append([]string{
			"log", "--reverse", "--topo-order",
			"--format=" + only("Id") + only("Event") + "%an " + only("Nonce") + only("Next") + "|" + only("Data"),
		}, tips...)...)
		for line := range strings.Lines(log) {
			line, data, _ := strings.Cut(line, "|")
			part := strings.Fields(line)
			l := of(part[0])
			event := part[1]
			if event == "offered" {
				offer := name + " " + part[3]
				if slices.Contains(l.offers, offer) {
					event = offeredAgain
				}
				l.offers = append(l.offers, offer)
			}
			l.events = append(l.events, name+" "+event)
			l.actors = append(l.actors, part[2])
			if len(part) > 4 {
				l.next = part[4]
			}
			if _, answer, ok := strings.Cut(data, `"follow_up":"`); ok {
				l.next = handoffID.FindString(answer)
			}
		}
	}
	return all
}

// only returns the format of git log that prints one trailer.
func only(key string) string { return "%(trailers:key=Handoff-" + key + ",valueonly,separator=) " }

// consistent checks the lives of handoffs when nothing runs and every clone has synced. Each handoff was offered
// once, at one home. It is either open, in one inbox, or has ended, with one receipt and no ref left.
func consistent(t testing.TB, all map[string]*life) {
	t.Helper()
	for id, l := range all {
		about := fmt.Sprintf("%s: refs %q, events %q", id, l.refs, l.events)
		assert.Equal(t, 1, l.count("offered"), about)
		switch l.receipts() {
		case 0:
			assert.Equal(t, 1, l.count("inbox"), about)
			assert.Zero(t, l.count("outbox"), about)
		case 1:
			assert.Empty(t, l.refs, about)
			assert.Contains(t, receipts, strings.Fields(l.events[len(l.events)-1])[1], about)
		default:
			assert.Fail(t, "ended more than once", about)
		}
	}
}
