package handoff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
)

func TestValidateAccepts(t *testing.T) {
	for name, change := range map[string]func(e *handoff.Envelope){
		"nobody yet":         func(e *handoff.Envelope) { e.Target.Agent = nil },
		"summary, no goal":   func(e *handoff.Envelope) { e.Goal, e.Summary = "", "s" },
		"task at its limit":  func(e *handoff.Envelope) { e.Task = "~ !" + strings.Repeat("x", handoff.MaxTask-3) },
		"texts at the limit": func(e *handoff.Envelope) { e.Summary = strings.Repeat("é", 2048); e.Goal = e.Summary },
		"detail and data at the limit": func(e *handoff.Envelope) {
			e.Detail = strings.Repeat("x", handoff.MaxDetailAndData-10)
			e.Data = map[string]string{"12345": "12345"}
		},
		"five files": func(e *handoff.Envelope) { e.RelevantFiles = []string{"a", "./b", "c", "dir/", ".gitignore"} },
		"blocked": func(e *handoff.Envelope) {
			e.Status, e.BlockedReason, e.Attempted, e.Target.Agent = handoff.StatusBlocked, "security_concern", []string{"x"}, nil
		},
		"blocked, agent named": func(e *handoff.Envelope) {
			e.Status, e.BlockedReason, e.Attempted = handoff.StatusBlocked, "security_concern", []string{"x"}
		},
		"needs review, agent named": func(e *handoff.Envelope) { e.Status = handoff.StatusNeedsReview },
		"expires at once":           func(e *handoff.Envelope) { e.ExpiresAt = e.CreatedAt },
		"file home":                 func(e *handoff.Envelope) { e.Source.Repo = "git+file:///srv/git/my repo" },
		"empty parts": func(e *handoff.Envelope) {
			e.Context, e.Rollback, e.Expectations, e.Skills = &handoff.Context{}, &handoff.Rollback{}, &handoff.Expectations{}, &handoff.Skills{}
		},
		"sixteen ancestors": func(e *handoff.Envelope) { e.Lineage = ancestors(handoff.MaxLineage, "") },
	} {
		t.Run(name, func(t *testing.T) {
			e := minimal()
			change(e)
			assert.NoError(t, e.Validate())
		})
	}
}

func ancestors(n int, summary string) []handoff.Ancestor {
	list := make([]handoff.Ancestor, n)
	for i := range list {
		list[i] = handoff.Ancestor{ID: otherID, Agent: "architect", Summary: summary}
	}
	return list
}

func TestValidateRefuses(t *testing.T) {
	blocked := func(e *handoff.Envelope) {
		e.Status, e.BlockedReason, e.Attempted, e.Target.Agent = handoff.StatusBlocked, "r", []string{"x"}, nil
	}
	for name, c := range map[string]struct {
		change          func(e *handoff.Envelope)
		reason, message string
	}{
		"schema":             {func(e *handoff.Envelope) { e.Schema = "githandoff/2" }, "malformed", "schema: want"},
		"no id":              {func(e *handoff.Envelope) { e.ID = "" }, "invalid_id", "id: not a handoff id"},
		"upper-case id":      {func(e *handoff.Envelope) { e.ID = handoff.ID(strings.ToUpper(someID)) }, "invalid_id", "id: "},
		"no created_at":      {func(e *handoff.Envelope) { e.CreatedAt = "" }, "malformed", "created_at: "},
		"created_at offset":  {func(e *handoff.Envelope) { e.CreatedAt = "2026-11-20T22:00:00+00:00" }, "malformed", "created_at: "},
		"expires_at":         {func(e *handoff.Envelope) { e.ExpiresAt = "2026-11-27" }, "malformed", "expires_at: "},
		"expires before":     {func(e *handoff.Envelope) { e.ExpiresAt = "2026-11-20T21:59:59Z" }, "malformed", "expires_at: before created_at"},
		"no salt":            {func(e *handoff.Envelope) { e.Salt = "" }, "malformed", "salt: "},
		"upper-case salt":    {func(e *handoff.Envelope) { e.Salt = strings.ToUpper(someSalt) }, "malformed", "salt: "},
		"long salt":          {func(e *handoff.Envelope) { e.Salt += "00" }, "malformed", "salt: "},
		"salt and newline":   {func(e *handoff.Envelope) { e.Salt += "\n" }, "malformed", "salt: "},
		"long task":          {func(e *handoff.Envelope) { e.Task = strings.Repeat("x", 129) }, "too_large", "task: 129 bytes, limit 128"},
		"task not ASCII":     {func(e *handoff.Envelope) { e.Task = "É" }, "malformed", "task: must be printable ASCII"},
		"task with newline":  {func(e *handoff.Envelope) { e.Task = "a\nHandoff-To: evil" }, "malformed", "task: must be printable ASCII"},
		"task ends in space": {func(e *handoff.Envelope) { e.Task = "a " }, "malformed", "task: must not begin or end"},
		"no source agent":    {func(e *handoff.Envelope) { e.Source.Agent = "" }, "malformed", "source.agent: missing"},
		"source agent":       {func(e *handoff.Envelope) { e.Source.Agent = "a/b" }, "malformed", "source.agent: agent"},
		"hostile agent":      {func(e *handoff.Envelope) { e.Source.Agent = "\x1b[2J" + strings.Repeat("x", 9999) }, "malformed", `source.agent: agent "\x1b[2J`},
		"target agent":       {func(e *handoff.Envelope) { e.Target.Agent = new("") }, "malformed", "target.agent: missing"},
		"target agent lock":  {func(e *handoff.Envelope) { e.Target.Agent = new("a.lock") }, "malformed", "target.agent: "},
		"short commit":       {func(e *handoff.Envelope) { e.Source.Commit = someOID[:12] }, "malformed", "source.commit: want a full object id"},
		"upper-case commit":  {func(e *handoff.Envelope) { e.Source.Commit = strings.ToUpper(someOID) }, "malformed", "source.commit: "},
		"commit name":        {func(e *handoff.Envelope) { e.Source.Commit = "HEAD" }, "malformed", "source.commit: "},
		"source repo":        {func(e *handoff.Envelope) { e.Source.Repo = "ext::sh -c id" }, "malformed", "source.repo: want a repo id"},
		"target repo":        {func(e *handoff.Envelope) { e.Target.Repo = "local:abc" }, "malformed", "target.repo: want a repo id"},
		"repo with newline":  {func(e *handoff.Envelope) { e.Target.Repo = "git+https://h/p\nq" }, "malformed", "target.repo: "},
		"repo with bell":     {func(e *handoff.Envelope) { e.Target.Repo = "git+https://h/p\aq" }, "malformed", "target.repo: must be one line"},
		"branch":             {func(e *handoff.Envelope) { e.Source.Branch = "a\nb" }, "malformed", "source.branch: must be one line"},
		"session":            {func(e *handoff.Envelope) { e.Source.Session = "a\x9bb" }, "malformed", "source.session: "},
		"phase":              {func(e *handoff.Envelope) { e.Source.Phase = "a\tb" }, "malformed", "source.phase: "},
		"request":            {func(e *handoff.Envelope) { e.Target.Request = "a\rb" }, "malformed", "target.request: "},
		"no status":          {func(e *handoff.Envelope) { e.Status = "" }, "malformed", "status: want"},
		"unknown status":     {func(e *handoff.Envelope) { e.Status = "Complete" }, "malformed", "status: want"},
		"blocked, no reason": {func(e *handoff.Envelope) { blocked(e); e.BlockedReason = " " }, "malformed", "blocked_reason: required"},
		"blocked, untried":   {func(e *handoff.Envelope) { blocked(e); e.Attempted = []string{"", "\n"} }, "malformed", "attempted: at least one"},
		"nothing to clarify": {func(e *handoff.Envelope) { e.Status = handoff.StatusNeedsClarification }, "malformed", "questions: at least one"},
		"empty question":     {func(e *handoff.Envelope) { e.Questions = []handoff.Question{{Question: "a"}, {}} }, "malformed", "questions[1].question: missing"},
		"nothing said":       {func(e *handoff.Envelope) { e.Goal = " \n" }, "malformed", "summary: a summary or a goal"},
		"long summary":       {func(e *handoff.Envelope) { e.Summary = strings.Repeat("x", 5000) }, "too_large", "summary: 5,000 bytes, limit 4,096"},
		"long goal":          {func(e *handoff.Envelope) { e.Goal = strings.Repeat("é", 2049) }, "too_large", "goal: 4,098 bytes, limit 4,096"},
		"long detail":        {func(e *handoff.Envelope) { e.Detail = strings.Repeat("x", 65537) }, "too_large", "detail: 65,537 bytes, limit 65,536"},
		"detail and data": {func(e *handoff.Envelope) {
			e.Detail = strings.Repeat("x", 65536-9)
			e.Data = map[string]string{"12345": "12345"}
		}, "too_large", "detail and data together: 65,537 bytes"},
		"six files":       {func(e *handoff.Envelope) { e.RelevantFiles = strings.Split("a b c d e f", " ") }, "too_large", "relevant_files: 6 files, limit 5"},
		"absolute file":   {func(e *handoff.Envelope) { e.RelevantFiles = []string{"a", "/etc/passwd"} }, "invalid_path", "relevant_files[1]: not a relative path"},
		"verified file":   {func(e *handoff.Envelope) { e.FilesVerified = []string{"../a:1-2"} }, "invalid_path", "files_verified[0]: "},
		"lines backwards": {func(e *handoff.Envelope) { e.FilesVerified = []string{"a:1-2", "a:3-2"} }, "invalid_path", "files_verified[1]: lines run backwards"},
		"on_failure":      {func(e *handoff.Envelope) { e.Rollback = &handoff.Rollback{OnFailure: "A"} }, "malformed", "rollback.on_failure: "},
		"checkpoint":      {func(e *handoff.Envelope) { e.Rollback = &handoff.Rollback{Checkpoint: "a\nb"} }, "malformed", "rollback.checkpoint: "},
		"parent":          {func(e *handoff.Envelope) { e.Parent = "ho_abc123" }, "invalid_id", "parent: "},
		"own parent":      {func(e *handoff.Envelope) { e.Parent = e.ID }, "invalid_id", "parent: the handoff itself"},
		"long lineage":    {func(e *handoff.Envelope) { e.Lineage = ancestors(17, "") }, "too_large", "lineage: 17 ancestors, limit 16"},
		"large lineage":   {func(e *handoff.Envelope) { e.Lineage = ancestors(9, strings.Repeat("x", 4000)) }, "too_large", "lineage: 36,"},
		"lineage id":      {func(e *handoff.Envelope) { e.Lineage = ancestors(2, ""); e.Lineage[1].ID = "" }, "invalid_id", "lineage[1].id: "},
		"lineage agent":   {func(e *handoff.Envelope) { e.Lineage = ancestors(1, ""); e.Lineage[0].Agent = "" }, "malformed", "lineage[0].agent: "},
		"lineage task":    {func(e *handoff.Envelope) { e.Lineage = ancestors(1, ""); e.Lineage[0].Task = "a\n" }, "malformed", "lineage[0].task: "},
		"lineage summary": {func(e *handoff.Envelope) { e.Lineage = ancestors(1, strings.Repeat("x", 4097)) }, "too_large", "lineage[0].summary: 4,097 bytes"},
		"obo jti":         {func(e *handoff.Envelope) { e.OBO = &handoff.OBORef{JTI: "obo_1", Path: "obo/0.json"} }, "invalid_id", "obo.jti: "},
		"obo path":        {func(e *handoff.Envelope) { e.OBO = &handoff.OBORef{JTI: "obo_" + someSalt, Path: "obo/../x.json"} }, "invalid_path", "obo.path: "},
		"obo path, zero":  {func(e *handoff.Envelope) { e.OBO = &handoff.OBORef{JTI: "obo_" + someSalt, Path: "obo/01.json"} }, "invalid_path", "obo.path: "},
		"origin format":   {func(e *handoff.Envelope) { e.Origin = &handoff.Origin{} }, "malformed", "origin.format: "},
		"bad UTF-8":       {func(e *handoff.Envelope) { e.CompletedSteps = []string{"ok", "\xff"} }, "malformed", "completed_steps[1]: not valid UTF-8"},
		"bad UTF-8 in extra": {func(e *handoff.Envelope) {
			e.Origin = &handoff.Origin{Format: "vox", Extra: map[string]any{"a": []any{"\xff"}}}
		}, "malformed", "origin.extra.a[0]: not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			e := minimal()
			c.change(e)
			requireRefusal(t, e.Validate(), c.reason, c.message)
			_, err := handoff.Encode(e)
			require.Error(t, err, "what is invalid is not encoded")
		})
	}
}

func TestCheckPath(t *testing.T) {
	for _, ok := range []string{
		"a", "pkg/auth/auth.go", ".github/x", ".gitignore", "a/.gitmodules", "src/..a/b..", "...", "ünï/日本", "a b", "./a", "a//b", "dir/",
		"digit/git~2", "x.git/config", "ab:c/d", "~/a", "auth.go:142", "-rf",
	} {
		assert.NoError(t, handoff.CheckPath(ok), "%q", ok)
	}
	for _, bad := range []string{
		"", "/", "/etc/passwd", "..", "../a", "a/..", "a/../b", `a\b`, `..\a`, `\\host\share`, "C:/a", "c:a", "a\nb", "a\x00b", "a\x7fb", "a\x1bb", "a\u202eb",
		".git", ".git/config", "a/.git/hooks/x", ".GIT/config", "a/.Git", ".git./config", ".git /config", ".git. . ./x", "git~1/config", "GIT~1",
		".git::$INDEX_ALLOCATION/config", ".g\u200cit/config", ".git\u200d", "\ufeff.git", "a\u2028b", "\xff", strings.Repeat("a", 4097),
	} {
		assert.Error(t, handoff.CheckPath(bad), "%q", bad)
	}
}

func FuzzCheckPath(f *testing.F) {
	for _, seed := range []string{"a/b", "..", "a/.GIT/b", `c:\x`, "a\u200c", "a:1-2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if handoff.CheckPath(s) != nil {
			return
		}
		require.False(t, strings.HasPrefix(s, "/"))
		require.NotContains(t, strings.Split(s, "/"), "..")
		for part := range strings.SplitSeq(s, "/") {
			require.False(t, strings.EqualFold(part, ".git"))
		}
	})
}
