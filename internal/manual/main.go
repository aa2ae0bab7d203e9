// Command manual writes a manual page for each command and help topic to a directory.
//
//	go run ./internal/manual DIRECTORY
//
// It is a program of its own because githandoff starts faster without the code that writes manual pages.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"githandoff/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manual DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes all pages to dir, which it makes if need be.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Tree()
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() { // it has nothing to run, and cobra leaves it out
			if err := writeTopic(dir, c); err != nil {
				return err
			}
		}
	}
	// "git handoff --help" asks for this one.
	if err := os.WriteFile(filepath.Join(dir, "git-handoff.1"), []byte(".so man1/githandoff.1\n"), 0o644); err != nil {
		return err
	}
	var err error
	if root.Long, err = help(); err != nil {
		return err
	}
	keepLines(root)
	date := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "githandoff", Manual: "githandoff", Date: &date}, dir)
}

// writeTopic writes the page of a help topic.
func writeTopic(dir string, c *cobra.Command) error {
	text, err := help(c.Name())
	if err != nil {
		return err
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, ".TH GITHANDOFF-%s 1\n.SH NAME\ngithandoff-%s \\- %s\n.SH DESCRIPTION\n.nf\n", strings.ToUpper(c.Name()), c.Name(), c.Short)
	for line := range strings.Lines(text) {
		page.WriteString(`\&` + strings.ReplaceAll(line, `\`, `\e`))
	}
	return os.WriteFile(filepath.Join(dir, "githandoff-"+c.Name()+".1"), page.Bytes(), 0o644)
}

// keepLines makes the pages of a command and of those below it show their descriptions line by line: a
// paragraph that is indented is shown as it is.
func keepLines(c *cobra.Command) {
	if c.Long != "" {
		c.Long = "\t" + strings.ReplaceAll(c.Long, "\n", "\n\t")
	}
	c.DisableAutoGenTag = true
	for _, below := range c.Commands() {
		keepLines(below)
	}
}

// help returns what "githandoff help" prints about a topic.
func help(topic ...string) (string, error) {
	var out, diag bytes.Buffer
	code := cli.Main(context.Background(), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diag,
		Getenv: os.Getenv, Vars: os.Environ(), Now: time.Now, Random: rand.Reader,
	}, append([]string{"help"}, topic...))
	if code != 0 {
		return "", fmt.Errorf("help %s: %s", topic, diag.String())
	}
	return out.String(), nil
}
