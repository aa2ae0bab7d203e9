package sign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Digest stands for all that the trust files and the adopted lists say: where it is the
// same, every signature and every right is judged the same way.
func (t *Trust) Digest() (string, error) {
	b, err := json.Marshal(struct {
		Repo, User []TrustEntry
		Teams      []*Team
	}{t.repo, t.user, t.teams})
	if err != nil {
		return "", fmt.Errorf("digest of the trust files: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
