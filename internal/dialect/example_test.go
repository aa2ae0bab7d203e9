package dialect_test

import (
	"fmt"

	"githandoff/internal/dialect"
	"githandoff/internal/handoff"
)

func ExampleImport() {
	draft, err := dialect.Import(dialect.Kelos, []byte(`{"summary": "Found it", "data": {"line": "142"}, "cost": 0.25}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	origin, err := handoff.Canonical(draft.Envelope.Origin)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(draft.Envelope.Summary, draft.Envelope.Data["line"])
	fmt.Println(string(origin))
	// Output:
	// Found it 142
	// {"extra":{"/cost":0.25,"absent":["/version"]},"format":"kelos"}
}
