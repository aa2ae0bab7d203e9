package output

import (
	"bytes"
	"regexp"
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
	p := NewPatience(&tty, time.Now)
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

// What is over soon is not told of, and where nobody looks nothing is.
func TestPatienceIsQuiet(t *testing.T) {
	var tty slowly
	p := NewPatience(&tty, time.Now)
	p.For("x")()
	p.Count("y")
	p.Stop()
	assert.Empty(t, tty.String())
	nobody := NewPatience(nil, time.Now)
	nobody.For("x")()
	nobody.Count("y")
	nobody.Stop()
}
