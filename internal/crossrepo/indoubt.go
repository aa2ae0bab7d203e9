package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrInDoubt is the cause of the error of an interrupted push: the hub may have taken it, or
// may take it yet. The next look at the hub tells.
var ErrInDoubt = errors.New("the hub may have taken the push")

// inDoubt adds [ErrInDoubt] to the error of the look after an unanswered push, if an interrupt
// kept the look from learning the outcome.
func inDoubt(r *pushReport, err error) error {
	if r.rejected() || !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInDoubt, err)
}

// rejected reports whether git or the hub refused a ref: then an atomic push moved none.
func (r *pushReport) rejected() bool {
	for ref, flag := range r.flag {
		if _, ok := r.refused(ref); ok || flag == '!' && strings.HasPrefix(r.summary[ref], "[rejected] ") {
			return true
		}
	}
	return false
}
