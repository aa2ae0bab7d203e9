package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	testName = regexp.MustCompile("`(?:([a-z]+)\\.)?((?:Test|Fuzz)[A-Z]\\w*)(?:/[^`]*)?`")
	shownBy  = regexp.MustCompile(`(?m)^\|.*\|(.*)\|$`)
	script   = regexp.MustCompile("`([a-z]+_[a-z0-9_]+)`")
	link     = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unlinked = regexp.MustCompile(`[^\w\- ]`)
)

// files returns the names and texts of files.
func files(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, name := range found {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			texts[name] = string(text)
		}
	}
	return texts
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	return files(t, "../*.md", "../*/*.md", "../docs/*/*.md")
}

// Each test that a page names exists, in the package that it names. So does each script that shows a promise
// of the threat model.
func TestNamedTestsExist(t *testing.T) {
	packages := map[string][]string{} // by name of a test
	for name, text := range files(t, "../*/*_test.go", "*/*_test.go", "*/*/*_test.go") {
		for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
			packages[m[1]] = append(packages[m[1]], filepath.Base(filepath.Dir(name)))
		}
	}
	all := pages(t)
	for page, text := range all {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if assert.Contains(t, packages, m[2], page) && m[1] != "" {
				assert.Contains(t, packages[m[2]], m[1], "%s: %s", page, m[0])
			}
		}
	}
	for _, row := range shownBy.FindAllStringSubmatch(all["../docs/threat-model.md"], -1) {
		for _, m := range script.FindAllStringSubmatch(row[1], -1) {
			assert.FileExists(t, filepath.Join("cli/testdata/script", m[1]+".txtar"))
		}
	}
}

// Each link of a page to another page of the source leads there, to a heading if it names one.
func TestLinks(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, page) || m[2] == "" {
				continue
			}
			there, err := os.ReadFile(target)
			require.NoError(t, err)
			var anchors []string
			for _, h := range heading.FindAllStringSubmatch(string(there), -1) {
				anchors = append(anchors, strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
			}
			assert.Contains(t, anchors, m[2], "%s: %s", page, m[0])
		}
	}
}
