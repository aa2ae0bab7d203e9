package agentsetup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAppendTo(t *testing.T) {
	value := map[string]any{"command": "githandoff <x>"}
	path := []string{"hooks", "Stop"}
	for name, tc := range map[string]struct{ in, want string }{
		"an empty object":      {"{}", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"command\": \"githandoff <x>\"\n      }\n    ]\n  }\n}"},
		"an empty array":       {`{"hooks":{"Stop":[]}}`, "{\"hooks\":{\"Stop\":[\n  {\n    \"command\": \"githandoff <x>\"\n  }\n]}}"},
		"behind another":       {"{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"command\": \"a\"}\n\t\t]\n\t}\n}\n", "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"command\": \"a\"},\n\t\t\t{\n\t\t\t\t\"command\": \"githandoff <x>\"\n\t\t\t}\n\t\t]\n\t}\n}\n"},
		"comments, and commas": {"// mine\n{\n    \"hooks\": {\n        \"Stop\": [\n            1, // one\n        ], // stop\n    },\n}\n", "// mine\n{\n    \"hooks\": {\n        \"Stop\": [\n            1,\n            {\n                \"command\": \"githandoff <x>\"\n            }, // one\n        ], // stop\n    },\n}\n"},
		"another event":        {"{\n  \"hooks\": {\n    \"Start\": []\n  },\n  \"z\": 1\n}", "{\n  \"hooks\": {\n    \"Start\": [],\n    \"Stop\": [\n      {\n        \"command\": \"githandoff <x>\"\n      }\n    ]\n  },\n  \"z\": 1\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			out, inserted, err := put([]byte(tc.in), path, value, true)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(out))
			there, err := entry{list: path, mark: "githandoff <x>"}.in(out)
			require.NoError(t, err)
			assert.True(t, there)
			back, ok := cutOut(out, []string{inserted})
			assert.True(t, ok)
			assert.Equal(t, tc.in, string(back))
		})
	}
	for _, in := range []string{"", "{", "[]", `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`, "nonsense"} {
		_, _, err := put([]byte(in), path, value, true)
		assert.Error(t, err, in)
	}
}

func TestCutOutOfEditedText(t *testing.T) {
	out, inserted, err := put([]byte(`{"a":[]}`), []string{"a"}, 7, true)
	require.NoError(t, err)
	_, ok := cutOut([]byte(`{"a":[]}`), []string{inserted})
	assert.False(t, ok, "somebody removed it")
	_, ok = cutOut(append(out, out...), []string{inserted})
	assert.False(t, ok, "it is there twice")
}

// Removing an inserted entry restores the file byte for byte.
func FuzzAppendTo(f *testing.F) {
	f.Add([]byte("{}"), "hooks", "Stop")
	f.Add([]byte("/*x*/{ \"hooks\" : {\"Stop\":[1,/*y*/],},}"), "hooks", "Stop")
	f.Add([]byte("{\"a\":[\n]}"), "a", "b")
	f.Fuzz(func(t *testing.T, text []byte, a, b string) {
		out, inserted, err := put(text, []string{a, b}, map[string]string{"command": "githandoff\u0001"}, true)
		if err != nil {
			return
		}
		_, err = parse(out)
		require.NoError(t, err)
		if back, ok := cutOut(out, []string{inserted}); ok {
			assert.Equal(t, string(text), string(back))
		}
	})
}
