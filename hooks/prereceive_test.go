package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without githandoff, the pre-receive hook of a hub accepts no push.
func TestPreReceive(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(r *repo)
		chained bool
		want    []string
		refused bool
	}{
		{name: "passes", want: []string{"githandoff [hook] [run] [pre-receive]"}},
		{name: "chained", chained: true, want: []string{"before", "githandoff [hook] [run] [pre-receive]"}},
		{
			name: "githandoff refuses", want: []string{"githandoff [hook] [run] [pre-receive]"}, refused: true,
			prepare: func(r *repo) { r.setenv("githandoff_STATUS=4") },
		},
		{
			name: "githandoff refuses, chained", chained: true, refused: true,
			want:    []string{"before", "githandoff [hook] [run] [pre-receive]"},
			prepare: func(r *repo) { r.setenv("githandoff_STATUS=4") },
		},
		{
			name: "the kept hook refuses", chained: true, want: []string{"before"}, refused: true,
			prepare: func(r *repo) { r.setenv("before_STATUS=1") },
		},
		{
			name: "githandoff gone", refused: true,
			prepare: func(r *repo) { require.NoError(r.t, os.Remove(r.exe)) },
		},
		{
			name: "githandoff gone, chained", chained: true, refused: true,
			prepare: func(r *repo) { require.NoError(r.t, os.Remove(r.exe)) },
		},
		{
			name: "githandoff not to be started", refused: true,
			prepare: func(r *repo) { write(r.t, r.exe, "#!/nonexistent/sh\n", 0o755) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hub := newRepo(t, "--bare")
			if tt.chained {
				hub.hook("pre-receive")
			}
			hub.install(ServerNames()...)
			if tt.prepare != nil {
				tt.prepare(hub)
			}
			source := filepath.Join(hub.root, "source")
			hub.run(hub.root, "git", "init", "-q", "-b", "main", source)
			hub.run(source, "git", "commit", "-q", "--allow-empty", "-m", "x")
			_, err := hub.try(source, "git", "push", "-q", hub.dir, "main")
			assert.Equal(t, tt.refused, err != nil, "%v", err)

			var want []string
			for _, line := range tt.want {
				want = append(want, line, "< 0000")
			}
			var got []string
			for line := range strings.Lines(hub.recorded()) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "< 0000") && strings.HasSuffix(line, " refs/heads/main") {
					line = "< 0000"
				}
				got = append(got, line)
			}
			assert.Equal(t, want, got)
		})
	}
}
