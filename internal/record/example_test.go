package record_test

import (
	"fmt"
	"strings"
	"time"

	"githandoff/internal/record"
)

// This is the message of a commit that records a claim.
func ExampleRecord_Message() {
	claimed := record.Record{
		ID:       "ho_01kahcp3g0000000000000000r",
		Event:    record.Claimed,
		Actor:    "fixer",
		From:     "investigator",
		To:       "fixer",
		Home:     "git+https://example.com/acme/client",
		Digest:   "sha256:" + strings.Repeat("c", 64),
		Previous: strings.Repeat("1", 40),
		Key:      "openpgp:" + strings.Repeat("2", 40),
		Nonce:    strings.Repeat("3", 32),
		At:       time.Date(2025, 11, 20, 22, 0, 0, 0, time.UTC),
		Expires:  time.Date(2025, 11, 27, 22, 0, 0, 0, time.UTC),
		Lease:    time.Date(2025, 11, 20, 22, 30, 0, 0, time.UTC),
	}
	message := claimed.Message()
	fmt.Printf("%s", message)

	_, err := record.Parse([]byte(strings.Replace(string(message), "fixer\n\n", "mallory\n\n", 1)), "fixer")
	fmt.Println(err)
	// Output:
	// claimed ho_01kahcp3g0000000000000000r by fixer
	//
	// Handoff-Id: ho_01kahcp3g0000000000000000r
	// Handoff-Event: claimed
	// Handoff-From: investigator
	// Handoff-To: fixer
	// Handoff-Home: git+https://example.com/acme/client
	// Handoff-Digest: sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
	// Handoff-Previous: 1111111111111111111111111111111111111111
	// Handoff-Key: openpgp:2222222222222222222222222222222222222222
	// Handoff-Nonce: 33333333333333333333333333333333
	// Handoff-At: 2025-11-20T22:00:00Z
	// Handoff-Expires: 2025-11-27T22:00:00Z
	// Handoff-Lease: 2025-11-20T22:30:00Z
	// message is not in canonical form
}
