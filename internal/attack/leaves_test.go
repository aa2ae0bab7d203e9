package attack

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

// everything sets every member that a sender may set, to texts without harm.
func (s *fixture) everything(e *handoff.Envelope) {
	e.Target.Repo = s.home
	e.Task, e.Goal, e.Summary, e.Detail = "LIN-423", "goal", "summary", "detail"
	e.Source.Repo, e.Source.Phase, e.Source.Branch, e.Source.Session = "local:"+strings.Repeat("0", 32), "phase", "main", "session"
	e.Source.Commit = strings.Repeat("0", gittest.Objects().Digits())
	e.Target.Reason, e.Target.Request = "reason", "request"
	e.Data = map[string]string{"key": "value", "long": strings.Repeat("x", 300)}
	e.CompletedSteps, e.PendingBlockers, e.Attempted = []string{"step"}, []string{"blocker"}, []string{"attempt"}
	e.RelevantFiles, e.FilesVerified, e.BlockedReason = []string{"a.go"}, []string{"b.go:1-2"}, "blocked"
	e.Questions = []handoff.Question{{Question: "question", Options: []string{"option"}, Category: "category"}}
	e.Context = &handoff.Context{Artifacts: []string{"artifact"}, Decisions: []string{"decision"}, Memories: []string{"memory"}}
	e.Expectations = &handoff.Expectations{
		Deliverables: []string{"deliverable"}, Constraints: []string{"constraint"},
		AcceptanceCriteria: []string{"criterion"}, Skills: []string{"skill"},
	}
	e.Rollback = &handoff.Rollback{OnFailure: "boss", Checkpoint: "checkpoint"}
	e.Skills = &handoff.Skills{Invoked: []string{"invoked"}, LibraryRead: []string{"read"}}
	e.Parent = "ho_01kahcp3g0000000000000000r"
	e.Lineage = []handoff.Ancestor{{ID: e.Parent, Agent: "alice", Task: "task", Summary: "summary", Data: map[string]string{"k": "v"}}}
	e.Origin = &handoff.Origin{Format: "kelos", Extra: map[string]any{"extra": "text"}}
	oid := strings.Repeat("1", gittest.Objects().Digits())
	e.Work = &handoff.Work{Commit: oid, Head: oid, Base: oid, Branch: "main", Commits: 1, Files: 1, Bytes: 1}
}

// leaf is one text of an envelope: its name, and a function that sets it.
type leaf struct {
	name string
	set  func(*handoff.Envelope, string)
}

// top returns the member of the envelope that holds the leaf.
func (l leaf) top() string {
	top, _, _ := strings.Cut(l.name, ".")
	return top
}

// leaves finds every text of an envelope by reflection, keys of objects
// included, so that a member that is added tomorrow is attacked as well.
func (s *fixture) leaves(t *testing.T) []leaf {
	t.Helper()
	agent := "fixer"
	e := &handoff.Envelope{
		Schema: "x", ID: "x", Salt: "x", Status: "x", CreatedAt: "x", ExpiresAt: "x",
		Source: handoff.Source{Agent: "boss"}, Target: handoff.Target{Agent: &agent},
	}
	s.everything(e)
	var found []leaf
	var visit func(v reflect.Value, path []string)
	visit = func(v reflect.Value, path []string) {
		add := func(suffix ...string) {
			at := slices.Concat(path, suffix)
			found = append(found, leaf{strings.Join(at, "."), func(e *handoff.Envelope, s string) { put(reflect.ValueOf(e).Elem(), at, s) }})
		}
		switch v.Kind() {
		case reflect.String:
			add()
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem(), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				require.True(t, name == "OBO" || !v.Field(i).IsZero(), "everything leaves out %s", name)
				visit(v.Field(i), append(slices.Clone(path), name))
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i), append(slices.Clone(path), strconv.Itoa(i)))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				add(k.String())
				add(k.String(), "key")
			}
		case reflect.Int, reflect.Int64: // no text
		default:
			t.Fatalf("%s of kind %s", strings.Join(path, "."), v.Kind())
		}
	}
	visit(reflect.ValueOf(e).Elem(), nil)
	return found
}

// put sets the text at a path.
func put(v reflect.Value, path []string, s string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if len(path) == 0 {
		v.SetString(s)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		put(v.FieldByName(path[0]), path[1:], s)
	case reflect.Slice:
		i, _ := strconv.Atoi(path[0])
		put(v.Index(i), path[1:], s)
	case reflect.Map:
		k := reflect.ValueOf(path[0])
		if len(path) == 1 {
			v.SetMapIndex(k, reflect.ValueOf(s).Convert(v.Type().Elem()))
			return
		}
		was := v.MapIndex(k)
		v.SetMapIndex(k, reflect.Value{})
		v.SetMapIndex(reflect.ValueOf(s), was)
	}
}

// names returns the names of the leaves.
func names(list []leaf) []string {
	set := map[string]bool{}
	for _, l := range list {
		set[l.name] = true
	}
	return slices.Sorted(maps.Keys(set))
}
