package stress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/gittest"
)

// script is the list of steps so far, in the form of internal/cli/testdata/script: a person
// could type it.
type script struct {
	lines   []string
	command string   // of the last line
	end     []string // what must be true by then
	names   []string // replaces ids by their variables
}

// hubBack brings the hub back.
const hubBack = "mv hub.git.gone hub.git"

func (s *script) add(lines ...string) { s.lines = append(s.lines, lines...) }

// ran adds a command, and how it came out.
func (s *script) ran(code int, words ...string) {
	for i, w := range words {
		if strings.ContainsAny(w, " '#$") {
			words[i] = "'" + strings.ReplaceAll(w, "'", "''") + "'"
		}
	}
	s.command = strings.Join(words, " ")
	s.add("")
	s.wants(code)
}

// wants says how the last command was to come out.
func (s *script) wants(codes ...int) {
	how := "exec "
	if len(codes) > 1 || codes[0] != 0 {
		how = "exitcode " + strings.ReplaceAll(strings.Trim(fmt.Sprint(codes), "[]"), " ", ",") + " "
	}
	s.lines[len(s.lines)-1] = how + s.command
}

// printed makes a variable of the id that the last command printed, if that was
// an emit.
func (s *script) printed(said string) {
	id := handoffID.FindString(said)
	last := &s.lines[len(s.lines)-1]
	switch {
	case !strings.Contains(s.command, " emit "):
	case strings.HasPrefix(*last, "exec "):
		*last = "capture " + s.variable(id) + " " + s.command
	default:
		s.add("cp stdout said", "capture "+s.variable(id)+" cat said")
	}
}

// killed says that the last command was, which a script cannot do.
func (s *script) killed(r gittest.Result, who string, p point) {
	note := fmt.Sprintf("# killed here, %s, at %s", who, p)
	last := &s.lines[len(s.lines)-1]
	if r.Code != 0 {
		*last = note + ": " + s.command
		return
	}
	*last = note + ", and went on\n" + *last
}

// chose says what the last command took of several: by chance, so a script asks
// for that one.
func (s *script) chose(at, id string) {
	s.command = "githandoff -C " + at + " resume " + id
	s.wants(0)
}

// follows makes a variable of the id in which another handoff goes on.
func (s *script) follows(home, parent, id string) {
	s.add("capture " + s.variable(id) + " git -C " + home + " log " + entries(parent, "%(trailers:key=Handoff-Next,valueonly,separator=)"))
}

func (s *script) variable(id string) string {
	v := fmt.Sprint("h", len(s.names)/2+1)
	s.names = append(s.names, id, "$"+v)
	return v
}

// entries returns the arguments of a git log of all that lanes say of a handoff.
func entries(id, format string) string {
	return "--reverse --glob=" + lanes + "/* '--grep=^Handoff-Id: '" + id + " '--format=" + format + "'"
}

// expects returns git's report about a handoff that follows the rules, at its home, and wherever
// else there is a ref to it.
func (m *machine) expects(j *job, l *life) (lines []string) {
	at := []string{j.home}
	if j.home == "" {
		at[0] = j.origin
	}
	for _, what := range slices.Concat(l.refs, l.events) {
		name, kind, _ := strings.Cut(what, " ")
		if kind != "sent" && kind != "outbox" && !slices.Contains(at, name) {
			at = append(at, name)
		}
	}
	if m.down != nil {
		lines = append(lines, hubBack)
	}
	for _, name := range at {
		log, refs, there := "! stdout .", inbox, "! stdout ."
		switch {
		case j.home == "":
			refs, there = outbox, "stdout ."
		case name == j.home:
			log = "stdout '" + m.pattern(j) + "'"
			if j.open() {
				there = "stdout ."
			}
		}
		lines = append(lines,
			"exec git -C "+name+" log "+entries(j.id, only("Event")+"%an"), log,
			"exec git -C "+name+" for-each-ref "+refs+"/*/"+j.id, there)
	}
	return lines
}

// pattern matches the log of a handoff: its events, and the name of its holder.
func (m *machine) pattern(j *job) string {
	const progress = `(progressed .*\n)*`
	var b strings.Builder
	for i, event := range j.log {
		who := ".*"
		if event == "claimed" && j.holder != "" && !slices.Contains(j.log[i+1:], "claimed") {
			who = m.agents[j.holder]
		}
		b.WriteString(event + " " + who + `\n` + progress)
	}
	return `\A` + b.String() + `\z`
}

// text returns the whole script, and before it what was said when it failed.
func (s *script) text(said, dir string) string {
	if _, what, ok := strings.Cut(said, "Error:"); ok {
		said = what // without the trace
	}
	var b strings.Builder
	b.WriteString("# A run of TestAnyOrder (internal/stress) that failed:\n#\n")
	for line := range strings.Lines(said) {
		b.WriteString(strings.TrimRight("# "+strings.TrimSpace(line), " ") + "\n")
	}
	b.WriteString("\n" + strings.Join(slices.Concat(s.lines, s.end), "\n") + "\n")
	return strings.NewReplacer(append(s.names, dir+"/", "")...).Replace(b.String())
}

// time sets everybody's clock.
func (m *machine) time(to time.Time) {
	m.clock = to
	m.script.add("env CLOCK=" + to.Format(time.RFC3339))
}
