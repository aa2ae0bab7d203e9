package output

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowly is a writer that two goroutines share.
type slowly struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *slowly) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *slowly) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestPatience(t *testing.T) {
	var tty slowly
	p := NewPatience(&tty, true, time.Now)
	p.delay = 10 * time.Millisecond
	done := p.For("reading the log of origin")
	p.Count("")
	p.Count("")
	require.Eventually(t, func() bool {
		return regexp.MustCompile(`^\r\x1b\[Kreading the log of origin 2, 0s`).MatchString(tty.String())
	}, time.Minute, time.Millisecond)
	_, err := p.Before(&tty).Write([]byte("a result\n"))
	require.NoError(t, err)
	assert.Regexp(t, `\r\x1b\[Ka result\n`, tty.String(), "the line is gone before anything is printed")
	done()
	after := tty.String()
	time.Sleep(3 * patienceStep / 2)
	assert.Equal(t, after, tty.String(), "nothing is drawn after the end")
}

// Each count is in the line, the first one too, and the line names the things counted if the
// command waits for nothing else. The clock of the test alone decides when the line is written.
func TestPatienceCounts(t *testing.T) {
	var tty slowly
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := NewPatience(&tty, true, func() time.Time { return at })
	p.delay = time.Hour // no timer fires during the test
	p.Count("reading the log, entries")
	assert.Empty(t, tty.String(), "it has not taken long yet")
	at = at.Add(2 * time.Hour)
	p.Count("reading the log, entries")
	assert.Equal(t, "\r\x1b[Kreading the log, entries 2, 2h", tty.String())
	p.Count("reading the log, entries")
	assert.Equal(t, 1, strings.Count(tty.String(), "\r"), "the line is not written more often than it can be read")
	at = at.Add(patienceStep)
	p.Count("reading the log, entries")
	assert.Contains(t, tty.String(), "reading the log, entries 4, 2h")
	p.Stop()
	assert.True(t, strings.HasSuffix(tty.String(), "\r\x1b[K"), "the line is gone in the end")
}

// A short wait is not shown, and neither is any wait where nobody looks.
func TestPatienceIsQuiet(t *testing.T) {
	var tty slowly
	p := NewPatience(&tty, true, time.Now)
	p.For("x")()
	p.Count("y")
	p.Stop()
	assert.Empty(t, tty.String())
	nobody := NewPatience(nil, false, time.Now)
	nobody.For("x")()
	nobody.Count("y")
	nobody.Stop()
}

// Without a terminal a long wait is told of once for each hub.
func TestPatienceWithoutATerminal(t *testing.T) {
	var said slowly
	p := NewPatience(&said, false, time.Now)
	p.At("reading from", "origin")()
	assert.Equal(t, 10*time.Second, p.long)
	p.long = time.Millisecond
	for _, place := range []string{"origin", "origin", "mirror"} {
		done := p.At("writing to", place)
		require.Eventually(t, func() bool { return strings.Contains(said.String(), place) }, time.Minute, time.Millisecond)
		time.Sleep(20 * time.Millisecond)
		done()
	}
	assert.Equal(t, "githandoff: waiting for origin …\ngithandoff: waiting for mirror …\n", said.String())
}
