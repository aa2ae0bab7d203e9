package handoff_test

import (
	"fmt"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// An envelope has one encoding. Any other encoding of the same value is refused.
func ExampleDecode() {
	fixer := "fixer"
	stored, err := handoff.Encode(&handoff.Envelope{
		Schema:    handoff.Schema,
		ID:        "ho_01kahcp3g0000000000000000r",
		CreatedAt: "2025-11-20T22:00:00Z",
		Salt:      strings.Repeat("0", 32),
		Source:    handoff.Source{Agent: "investigator"},
		Target:    handoff.Target{Agent: &fixer},
		Status:    handoff.StatusComplete,
		Goal:      "Sessions must survive a restart",
	})
	if err != nil {
		panic(err)
	}
	env, err := handoff.Decode(stored)
	if err != nil {
		panic(err)
	}
	fmt.Println(env.Goal)

	_, err = handoff.Decode(append(stored, '\n'))
	fmt.Println(fault.As(err).Reason)
	// Output:
	// Sessions must survive a restart
	// non_canonical
}

func ExampleParseTarget() {
	for _, target := range []string{"fixer", "fixer@origin", "@origin"} {
		agent, alias, err := handoff.ParseTarget(target)
		if err != nil {
			panic(err)
		}
		if agent == nil {
			fmt.Printf("a decision is due at %s\n", alias)
			continue
		}
		fmt.Printf("%s at %q\n", *agent, alias)
	}
	// Output:
	// fixer at ""
	// fixer at "origin"
	// a decision is due at origin
}
