package gittest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/gittest"
)

// verdict is a test that records how it was ended.
type verdict struct {
	testing.TB
	how, text string
}

func (v *verdict) Helper() {}

func (v *verdict) Fatalf(format string, args ...any) { v.end("fatal", format, args) }

func (v *verdict) Skipf(format string, args ...any) { v.end("skip", format, args) }

func (v *verdict) end(how, format string, args []any) {
	v.how, v.text = how, fmt.Sprintf(format, args...)
	panic(v)
}

func judge(t *testing.T, programs ...string) (how, text string) {
	t.Helper()
	v := &verdict{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(v) {
			panic(r)
		}
		how, text = v.how, v.text
	}()
	gittest.Need(v, programs...)
	return
}

func TestNeed(t *testing.T) {
	for _, tt := range []struct {
		name, ci  string
		programs  []string
		how, text string
	}{
		{"all there", "", []string{"git", "git-http-backend"}, "", ""},
		{"all there in CI", "true", []string{"git"}, "", ""},
		{"missing", "", []string{"git", "no-such-program"}, "skip", "program no-such-program is missing (Debian package no-such-program)"},
		{"missing in CI", "true", []string{"no-such-program"}, "fatal", "program no-such-program is missing (Debian package no-such-program)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CI", tt.ci)
			how, text := judge(t, tt.programs...)
			assert.Equal(t, tt.how, how)
			assert.Equal(t, tt.text, text)
		})
	}
}

func TestNeedNamesThePackage(t *testing.T) {
	t.Setenv("CI", "true")
	t.Setenv("PATH", t.TempDir())
	for program, pkg := range map[string]string{"htpasswd": "apache2-utils", "pgrep": "procps", "ssh-agent": "openssh-client"} {
		how, text := judge(t, program)
		assert.Equal(t, "fatal", how)
		assert.Contains(t, text, "(Debian package "+pkg+")")
	}
}
