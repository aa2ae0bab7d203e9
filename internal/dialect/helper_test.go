package dialect_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
)

// token returns a text in the form of a githandoff token.
func token() string {
	return dialect.EncodeToken([]byte(`{"jti":"obo_0","typ":"githandoff-obo/1"}`), []byte("signature"))
}

// override returns base with the given members ("name":value, …) set, or with one member deleted (-name).
func override(t *testing.T, base, members string) string {
	t.Helper()
	var o, set map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(base), &o))
	if members[0] == '-' {
		require.Contains(t, o, members[1:])
		delete(o, members[1:])
	} else {
		require.NoError(t, json.Unmarshal([]byte("{"+members+"}"), &set), members)
	}
	maps.Copy(o, set)
	b, err := json.Marshal(o)
	require.NoError(t, err)
	return string(b)
}
