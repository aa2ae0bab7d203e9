package cli

import (
	"errors"

	"githandoff/internal/app/export"
	"githandoff/internal/lifecycle"
)

// exported is a document as it is printed: with a line end, and counted.
func (s *presenter) exported(format string, v *lifecycle.Verified) ([]byte, error) {
	doc, warnings, err := export.Document(format, v)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		s.Warn(errors.New(w))
	}
	doc = append(doc, '\n')
	s.Cost(len(doc))
	return doc, nil
}
