package cli_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// sessionLine is a line of a recorded session: a title, a command that was typed, or a line of
// output with its colours.
type sessionLine struct {
	title, prompt string
	text          string
}

// recordedColumns is the width of the terminals of the recording.
const recordedColumns = 104

// The size of the picture, in units of it.
const (
	cellWidth2 = 17 // the width of two characters
	cellHeight = 19
	margin     = 16
)

// Pauses of a recording, in seconds.
const (
	readingTime = 1.2  // before the next command
	typingTime  = 0.8  // before its output
	printTime   = 0.06 // between two lines of output
)

// picture collects the lines of a drawing and the time at which each appears.
type picture struct {
	bytes.Buffer
	y    int
	time float64
}

// drawSession draws a session as an SVG. Its lines appear one after the other; where
// animations are not shown, or not wanted, all of them are there from the start.
func drawSession(lines []sessionLine) []byte {
	p := &picture{y: margin}
	for i, line := range lines {
		switch {
		case line.title != "":
			if i > 0 {
				p.y += cellHeight / 2
				p.time += readingTime
			}
			p.line(`<tspan class="title">`+escaped("# "+line.title)+`</tspan>`, 0)
		case line.prompt != "":
			p.wrapped(`<tspan class="prompt">`+escaped(line.prompt+" $ ")+`</tspan>`, utf8.RuneCountInString(line.prompt)+3, line.text, readingTime)
			p.time += typingTime
		default:
			p.wrapped("", 0, line.text, printTime)
		}
	}
	width, height := recordedColumns*cellWidth2/2+2*margin, p.y+margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Two machines hand over work with githandoff">`+"\n", width, height, width, height)
	b.WriteString(`<!-- made by "make recording" from a real run: not edited by hand -->
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d0d7de; white-space: pre }
.title { fill: #8b949e }
.prompt { fill: #7ee787; font-weight: bold }
.typed { fill: #ffffff; font-weight: bold }
.bold { font-weight: bold }
.c31 { fill: #ff7b72 } .c32 { fill: #7ee787 } .c33 { fill: #e3b341 } .c36 { fill: #79c0ff }
text { animation: appear 1ms both }
@keyframes appear { from { opacity: 0 } to { opacity: 1 } }
@media (prefers-reduced-motion: reduce), print { text { animation: none } }
</style>
`)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#0d1117"/>`+"\n", width, height)
	b.Write(p.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// line draws a line of marked-up text.
func (p *picture) line(markup string, wait float64) {
	p.y += cellHeight
	p.time += wait
	fmt.Fprintf(p, `<text x="%d" y="%d" style="animation-delay: %.2fs" xml:space="preserve">%s</text>`+"\n", margin, p.y, p.time, markup)
}

// wrapped draws text behind what a line begins with, and goes on below it where the
// terminal ends.
func (p *picture) wrapped(begin string, used int, text string, wait float64) {
	class := ""
	if begin != "" {
		class = "typed"
	}
	markup := begin
	for _, part := range colourParts(text) {
		if part.class == "" {
			part.class = class
		}
		for part.text != "" {
			r := []rune(part.text)
			n := min(len(r), recordedColumns-used)
			markup += span(part.class, string(r[:n]))
			used += n
			if part.text = string(r[n:]); part.text != "" {
				p.line(markup, wait)
				markup, used, wait = "", 0, 0
			}
		}
	}
	p.line(markup, wait)
}

func span(class, text string) string {
	if class == "" {
		return escaped(text)
	}
	return `<tspan class="` + class + `">` + escaped(text) + `</tspan>`
}

// colourPart is text of one colour.
type colourPart struct{ class, text string }

var sgr = regexp.MustCompile("\x1b\\[([0-9]*)m")

// colourParts splits the output for a terminal into parts of one colour.
func colourParts(text string) (parts []colourPart) {
	class, at := "", 0
	for _, m := range sgr.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, colourPart{class, text[at:m[0]]})
		at = m[1]
		switch code := text[m[2]:m[3]]; code {
		case "1":
			class = "bold"
		case "22", "39", "0", "":
			class = ""
		default:
			class = "c" + code
		}
	}
	return append(parts, colourPart{class, text[at:]})
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
