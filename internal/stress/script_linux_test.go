package stress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/gittest"
)

// script lists the steps so far as a script of internal/cli/testdata/script, so that a person can repeat them.
type script struct {
	lines   []string
	command string   // the command of the last line
	end     []string // conditions at the end
	names   []string // pairs of an id and its variable
}

// hubBack brings the hub back.
const hubBack = "mv hub.git.gone hub.git"

func (s *script) add(lines ...string) { s.lines = append(s.lines, lines...) }

// ran adds a command and its exit code.
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

// wants sets the exit code that the last command should have had.
func (s *script) wants(codes ...int) {
	how := "exec "
	if len(codes) > 1 || codes[0] != 0 {
		how = "exitcode " + strings.ReplaceAll(strings.Trim(fmt.Sprint(codes), "[]"), " ", ",") + " "
	}
	s.lines[len(s.lines)-1] = how + s.command
}

// printed makes a variable of the id that the last command printed, if the command was emit.
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

// killed notes that the last command was killed, for a script cannot kill a command.
func (s *script) killed(r gittest.Result, who string, p point) {
	note := fmt.Sprintf("# killed here, %s, at %s", who, p)
	last := &s.lines[len(s.lines)-1]
	if r.Code != 0 {
		*last = note + ": " + s.command
		return
	}
	*last = note + ", and went on\n" + *last
}

// chose replaces the last command, which took one handoff of several, by a resume that names the handoff.
func (s *script) chose(at, id string) {
	s.command = "githandoff -C " + at + " resume " + id
	s.wants(0)
}

// follows makes a variable of the id of a handoff that continues another one.
func (s *script) follows(j *job) {
	log := entries("Id", j.parent.id, "%(trailers:key=Handoff-Next,valueonly,separator=)")
	if j.parent.receipt == "acknowledged" {
		log = entries("Parent", j.parent.id, "%(trailers:key=Handoff-Id,valueonly,separator=)")
	}
	s.add("capture " + s.variable(j.id) + " git -C " + j.parent.home + " log " + log)
}

func (s *script) variable(id string) string {
	v := fmt.Sprint("h", len(s.names)/2+1)
	s.names = append(s.names, id, "$"+v)
	return v
}

// entries returns the arguments of a git log that prints all entries with the id of a handoff in a trailer.
func entries(trailer, id, format string) string {
	return "--reverse --glob=" + lanes + "/* '--grep=^Handoff-" + trailer + ": '" + id + " '--format=" + format + "'"
}

// expects returns what git should report about a handoff: its log at its home, and each ref to it.
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
			"exec git -C "+name+" log "+entries("Id", j.id, only("Event")+"%an"), log,
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

// text returns the whole script, after the message of the failure.
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

// time sets the clock of every place.
func (m *machine) time(to time.Time) {
	m.clock = to
	m.script.add("env CLOCK=" + to.Format(time.RFC3339))
}
