package lifecycle

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

func entry(mode, name string) string {
	return mode + " " + name + "\x00" + strings.Repeat("\xab", gittest.Objects().Digits()/2)
}

func TestPayloadTreeIsExact(t *testing.T) {
	for name, tc := range map[string]struct {
		raw string
		ok  bool
	}{
		"an envelope":            {entry("100644", "handoff.json"), true},
		"and tokens":             {entry("100644", "handoff.json") + entry("40000", "obo"), true},
		"nothing":                {"", false},
		"tokens alone":           {entry("40000", "obo"), false},
		"a second envelope":      {entry("100644", "handoff.json") + entry("100644", "handoff.json"), false},
		"another order":          {entry("40000", "obo") + entry("100644", "handoff.json"), false},
		"a third name":           {entry("100644", "handoff.json") + entry("40000", "obo") + entry("100644", "x"), false},
		"an executable":          {entry("100755", "handoff.json"), false},
		"a symbolic link":        {entry("120000", "handoff.json"), false},
		"a submodule for tokens": {entry("100644", "handoff.json") + entry("160000", "obo"), false},
		"a padded mode":          {entry("100644", "handoff.json") + entry("040000", "obo"), false},
		"another case":           {entry("100644", "Handoff.json"), false},
		"cut short":              {entry("100644", "handoff.json")[:30], false},
		"more behind it":         {entry("100644", "handoff.json") + "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsePayloadTree(gittest.Objects(), []byte(tc.raw))
			if tc.ok {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, fault.Reason("malformed_object"), fault.As(err).Reason)
		})
	}
}

func TestTokenTreeIsExact(t *testing.T) {
	link := func(n string) string { return entry("100644", n+".json") + entry("100644", n+".sig") }
	for name, tc := range map[string]struct{ raw, reason string }{
		"one":             {link("0"), ""},
		"four":            {link("0") + link("1") + link("2") + link("3"), ""},
		"five":            {link("0") + link("1") + link("2") + link("3") + link("4"), "depth_invalid"},
		"none":            {"", "malformed_object"},
		"a gap":           {link("0") + link("2"), "malformed_object"},
		"not from 0":      {link("1"), "malformed_object"},
		"no signature":    {entry("100644", "0.json"), "malformed_object"},
		"half a link":     {link("0") + entry("100644", "1.json"), "malformed_object"},
		"a leading zero":  {link("00"), "malformed_object"},
		"a tree for one":  {entry("40000", "0.json") + entry("100644", "0.sig"), "malformed_object"},
		"the other order": {entry("100644", "0.sig") + entry("100644", "0.json"), "malformed_object"},
	} {
		t.Run(name, func(t *testing.T) {
			links, err := parseTokenTree(gittest.Objects(), []byte(tc.raw))
			if tc.reason == "" {
				require.NoError(t, err)
				assert.Len(t, links, len(tc.raw)/len(link("0")))
				return
			}
			require.Error(t, err)
			assert.Equal(t, fault.Reason(tc.reason), fault.As(err).Reason)
		})
	}
}

// Every tree that the parser accepts is encoded to the same bytes.
func FuzzParsePayloadTree(f *testing.F) {
	f.Add([]byte(entry("100644", "handoff.json")))
	f.Add([]byte(entry("100644", "handoff.json") + entry("40000", "obo")))
	f.Add([]byte(entry("100644", "0.json") + entry("100644", "0.sig")))
	f.Add([]byte("40000 obo\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if tree, err := parsePayloadTree(gittest.Objects(), raw); err == nil {
			again, err := encodePayloadTree(tree)
			require.NoError(t, err)
			assert.Equal(t, raw, again)
		}
		if links, err := parseTokenTree(gittest.Objects(), raw); err == nil {
			again, err := encodeTokenTree(links)
			require.NoError(t, err)
			assert.Equal(t, raw, again)
		}
	})
}
