package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Tokens lists the tokens named in the commits of a push from this clone, except commits known
// to be at a remote.
func Tokens(ctx context.Context, repo *refs.Repo, edits []refs.Edit) ([]string, error) {
	tips := newTips(edits)
	if len(tips) == 0 {
		return nil, nil
	}
	args := append([]string{"log", "--stdin", "--no-show-signature", "--format=%(trailers:key=Handoff-Token,valueonly)"}, atClient(edits)...)
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: args, Stdin: lines(tips)})
	if err != nil {
		return nil, fmt.Errorf("read what the commits of a push name: %w", err)
	}
	named := strings.Fields(string(out))
	slices.Sort(named)
	return slices.Compact(named), nil
}
