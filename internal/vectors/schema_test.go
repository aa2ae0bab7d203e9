package vectors_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
	"githandoff/internal/work"
)

func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	b, err := os.ReadFile("../../docs/schema/" + name + ".schema.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("urn:githandoff:schema:"+name, doc))
	s, err := c.Compile("urn:githandoff:schema:" + name)
	require.NoError(t, err)
	return s
}

func conforms(t *testing.T, s *jsonschema.Schema, doc []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	require.NoError(t, err, "%s", doc)
	return s.Validate(v)
}

// The program's documents conform to the schemas, which refuse additional members.
func TestSchemas(t *testing.T) {
	limited := pinned(t)[0]
	limited.MaxScope, limited.Comment = []string{"repo.write:src/*"}, "compared by phone"
	limited.From, limited.Until, limited.Retired = handoff.FormatTime(start()), handoff.FormatTime(now()), handoff.FormatTime(now())
	keys := append(pinned(t)[1:], limited)
	trust, err := enginetest.NewTrust()
	require.NoError(t, err)
	list := filepath.Join(t.TempDir(), "trust.json")
	for _, e := range keys {
		require.NoError(t, trust.Add(list, e))
	}
	team := &sign.Team{
		Schema: "githandoff-team/2", Home: "git+https://example.com/acme/client", Serial: 7, At: handoff.FormatTime(start()),
		Signer: signer(t, "alice@example.com").KID(), Keys: keys,
	}
	listed, err := team.Encode()
	require.NoError(t, err)
	dir := t.TempDir()
	claims := work.Claims{GitDir: dir, Common: dir}
	id := handoff.DeriveID(start(), "claim")
	require.NoError(t, claims.Update(t.Context(), id, func(h *work.Claim) error {
		*h = work.Claim{
			ID: id, Agent: "fixer", Actor: "fixer", Home: homeID, Nonce: "000102030405060708090a0b0c0d0e0f", Key: signer(t, "fixer").KID(),
			At: start(), Lease: now(),
		}
		h.Keep(work.Step{Event: record.Acknowledged, Nonce: h.Nonce, Commit: strings.Repeat("0", 40), Data: "{}", At: now()})
		return nil
	}))
	documents := map[string][]byte{"trust": read(t, list), "team": listed, "claim": read(t, filepath.Join(dir, "githandoff", "claims", string(id)+".json"))}
	for _, v := range tokens(t) {
		if v.Want == "ok" {
			documents["token"] = []byte(v.Input[0])
		}
	}
	require.Len(t, documents, 4)
	for name, doc := range documents {
		s := schema(t, name)
		assert.NoError(t, conforms(t, s, doc), "%s", doc)
		var more map[string]any
		require.NoError(t, json.Unmarshal(doc, &more))
		more["evil"] = true
		bent, err := json.Marshal(more)
		require.NoError(t, err)
		assert.Error(t, conforms(t, s, bent), name)
	}
}

// The schema and the parser refuse the same tokens, except for the order of lists and the encoding.
func TestTokenSchema(t *testing.T) {
	s := schema(t, "token")
	for _, v := range tokens(t) {
		switch v.Name {
		case "scopes in another order", "a blank", "eight days", "over before it begins":
			continue
		}
		assert.Equal(t, v.Want == "ok", conforms(t, s, []byte(v.Input[0])) == nil, v.Name)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}
