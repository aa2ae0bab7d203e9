// Command mutant takes the guards out of the code, one at a time, and runs the
// tests that are to notice. It prints a table of which test noticed what, and
// fails if one did not.
//
//	go run ./internal/mutant [-list] [-with 'PACKAGE -run TEST'] [word…]
//
// -list runs nothing. With words only the guards are taken out whose description or file has one
// of them. -with runs other tests than the list says: to see which guards one test would miss.
// The source is left alone: go's -overlay flag shows the compiler another file.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is one guard, and the code without it.
type mutant struct {
	guard string
	file  string
	old   string // occurs once in the file
	new   string
	tests string // package, and the tests that are run
}

// without makes a row of a list.
func without(guard, file, old, with, tests string) mutant {
	return mutant{guard, file, old, with, tests}
}

func main() {
	list := flag.Bool("list", false, "print the guards, and whether they are where the list says")
	with := flag.String("with", "", "`tests` to run instead of those of the list: arguments of go test")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), *list, *with); err != nil {
		fmt.Fprintln(os.Stderr, "mutant:", err)
		os.Exit(1)
	}
}

// all returns the guards of every list.
func all() []mutant {
	return slices.Concat(mutants, ofAgents, ofDocuments, ofHints, ofRecords, ofState, ofForeignText, ofTimes, ofTrust, ofPlace, ofPeople, ofHubs, ofPushes, ofAliases, ofServers, ofInvites, ofSnapshots, ofAudits, ofCrowds, ofWork, ofTables, ofGuards)
}

func run(ctx context.Context, words []string, list bool, with string) error {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var alive []string // guards that nobody missed
	var wrong error    // what the list says of the code, or of the tests
	fmt.Println("| guard | without it fails |\n|---|---|")
	for _, m := range all() {
		if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.guard, w) || strings.Contains(m.file, w) }) {
			continue
		}
		m.tests = cmp.Or(with, m.tests)
		caught := []string{"-"}
		text, err := m.mutate()
		if err == nil && !list {
			caught, err = m.caught(ctx, dir, text)
		}
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		if len(caught) == 0 {
			alive, caught = append(alive, m.guard), []string{"**nothing**"}
		}
		fmt.Printf("| %s (%s) | %s |\n", m.guard, m.file, strings.Join(caught, ", "))
	}
	if len(alive) > 0 {
		wrong = errors.Join(wrong, fmt.Errorf("nothing noticed that these were missing: %s", strings.Join(alive, "; ")))
	}
	return wrong
}

// mutate returns the file without the guard.
func (m mutant) mutate() (string, error) {
	b, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), m.old); n != 1 {
		return "", fmt.Errorf("%s: %q is in %s %d times, want once", m.guard, m.old, m.file, n)
	}
	return strings.Replace(string(b), m.old, m.new, 1), nil
}

// failed finds the tests that failed, and those that ran when their time was up: without some guards
// a command never ends.
var failed = regexp.MustCompile(`(?m)^(?:\s*--- FAIL: |\t\t)(Test\S+)`)

// caught runs the tests, and returns those that failed.
func (m mutant) caught(ctx context.Context, dir, text string) ([]string, error) {
	file, err := filepath.Abs(m.file)
	if err != nil {
		return nil, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, b, 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-failfast", "-vet=off", "-timeout=5m"}, strings.Fields(m.tests)...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay) // also for the programs that tests build
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil, nil
	}
	var names []string
	for _, match := range failed.FindAllStringSubmatch(string(out), -1) {
		names = append(names, match[1])
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no test failed, and the tests did: %w\n%s", m.guard, err, out)
	}
	// A failed subtest says more than the test that it is part of.
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
	return names[:min(len(names), 3)], nil
}
