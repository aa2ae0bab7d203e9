package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// PastTask is an ended handoff, as a history tells it.
type PastTask struct {
	Task     string // task of the handoff, or its id
	Phase    string // "Succeeded" or "Failed"
	Who      string // id, sender and receiver of the handoff; "" in a template
	At       time.Time
	Results  map[string]string
	Duration string // duration, such as 1m02s
}

// History writes one block for each, in the given order, without a newline at
// the end. Keys, if any, choose the results and their order.
func History(list []PastTask, keys []string) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "=== Task %s (%s, %s) ===\n", line(p.Task), p.Phase, p.At.UTC().Format(time.RFC3339))
		if p.Who != "" {
			fmt.Fprintf(&b, "handoff: %s\n", line(p.Who))
		}
		for _, k := range Chosen(p.Results, keys) {
			switch k {
			case "duration":
			case "handoff":
				fmt.Fprintf(&b, "result handoff: %s\n", lines(p.Results[k]))
			default:
				fmt.Fprintf(&b, "%s: %s\n", line(k), lines(p.Results[k]))
			}
		}
		fmt.Fprintf(&b, "duration: %s\n", line(p.Duration))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Chosen lists the keys of results asked for, or all of them sorted.
func Chosen(results map[string]string, keys []string) []string {
	if len(keys) == 0 {
		return slices.Sorted(maps.Keys(results))
	}
	var there []string
	for _, k := range keys {
		if _, ok := results[k]; ok && !slices.Contains(there, k) {
			there = append(there, k)
		}
	}
	return there
}

// lines indents all lines of a value but the first.
func lines(s string) string {
	parts := strings.Split(strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
	for i, p := range parts {
		parts[i] = line(p)
	}
	return strings.Join(parts, "\n  ")
}

// line keeps a line a line: any character neither visible nor a space is escaped.
func line(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\t' || unicode.IsGraphic(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
