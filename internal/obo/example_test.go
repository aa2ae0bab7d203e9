package obo_test

import (
	"fmt"
	"strings"
	"time"

	"githandoff/internal/obo"
)

// This is the token of the package comment.
func ExampleIssue() {
	token, err := obo.Issue(obo.Params{
		JTI:       "obo_000102030405060708090a0b0c0d0e0f",
		Issuer:    "openpgp:1111111111111111111111111111111111111111",
		Principal: "user:alice@example.com",
		Agent:     "fixer",
		Keys:      []string{"openpgp:2222222222222222222222222222222222222222"},
		Audience:  []string{"git+https://example.com/acme/client"},
		Scope:     []string{"repo.write:src/auth/*"},
		IssuedAt:  time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC),
		ExpiresAt: time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC),
		Handoff:   "ho_01kahcp3g0000000000000000r",
		Digest:    "sha256:" + strings.Repeat("c", 64),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.ReplaceAll(string(token), `,"`, ",\n\""))
	// Output:
	// {"act":{"sub":"fixer"},
	// "aud":["git+https://example.com/acme/client"],
	// "cnf":{"kids":["openpgp:2222222222222222222222222222222222222222"]},
	// "del_max_depth":3,
	// "exp":1795298400,
	// "handoff":{"id":"ho_01kahcp3g0000000000000000r",
	// "sha256":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"},
	// "iat":1795212000,
	// "iss":"openpgp:1111111111111111111111111111111111111111",
	// "jti":"obo_000102030405060708090a0b0c0d0e0f",
	// "scope":["repo.write:src/auth/*"],
	// "sub":"user:alice@example.com",
	// "typ":"githandoff-obo/1"}
}

func ExampleScope_Covers() {
	auth, err := obo.ParseScope("repo.write:src/auth/*")
	if err != nil {
		panic(err)
	}
	for _, s := range []string{"repo.write:src/auth/login/form.go", "repo.write:src/billing.go", "repo.write"} {
		asked, err := obo.ParseScope(s)
		fmt.Println(asked, auth.Covers(asked), err)
	}
	// Output:
	// repo.write:src/auth/login/form.go true <nil>
	// repo.write:src/billing.go false <nil>
	// repo.write false <nil>
}
