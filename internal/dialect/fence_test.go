package dialect_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
)

func TestMetadataFences(t *testing.T) {
	const block = `{"status":"complete","agent":"last"}`
	tests := map[string]string{
		"bare JSON":            "\n" + block + "\n",
		"one":                  "# T\n\n```json\n" + block + "\n```\n",
		"the last":             "```json\n{\"status\":\"complete\",\"agent\":\"first\"}\n```\n\n```json\n" + block + "\n```\nbye\n",
		"followed by others":   "```json\n" + block + "\n```\n```\n{\"status\":\"no\"}\n```\n```js\n{}\n```\n",
		"CRLF":                 "# T\r\n\r\n```json\r\n" + block + "\r\n```\r\n",
		"trailing spaces":      "```json  \t\n" + block + "\n```   \n",
		"tildes":               "~~~ json\n" + block + "\n~~~\n",
		"upper case, words":    "``` JSON title=\"metadata\"\n" + block + "\n```\n",
		"indented":             "   ```json\n   " + block + "\n  ```\n",
		"more backticks":       "`````json\n" + block + "\n``````\n",
		"not closed":           "text\n```json\n" + block + "\n",
		"the first not closed": "```json\n{\n\n```json\n" + block + "\n```\n",
		"all of it wrapped":    "```markdown\n# T\n```json\n" + block + "\n```\n```\n",
		"wrapped in a longer":  "````Markdown\n# T\n```json\n" + block + "\n```\nbye\n````\n",
		"wrapped, not closed":  "````md\n# T\n```json\n" + block + "\n```\n",
		"shown, not meant":     "```json\n" + block + "\n```\n````markdown\n```json\n{\"status\":\"shown\"}\n```\n````\n",
		"inline code":          "```json\n" + block + "\n```\n```json `not a fence`\n",
		"code block":           "```json\n" + block + "\n```\n\n    ```json\n    {}\n    ```\n",
		"byte order mark":      "\ufeff# T\n```json\n" + block + "\n```\n",
		"begins with a brace":  "{note}\n\n```json\n" + block + "\n```\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			format, err := dialect.Detect([]byte(text))
			require.NoError(t, err)
			assert.Equal(t, dialect.Metadata, format)
			d, err := dialect.Import("", []byte(text))
			require.NoError(t, err)
			assert.Equal(t, "last", d.Envelope.Source.Agent)
		})
	}
}

var longFence = regexp.MustCompile("`{4,}|~+")

// A block at the end of any Markdown text is found, unless it is inside a fence that is still open.
func FuzzMetadataFence(f *testing.F) {
	f.Add("# T\n```json\n{}\n```\n")
	f.Add("````markdown\n```json\n{}\n```\n")
	f.Add("~~~\n```json")
	f.Fuzz(func(t *testing.T, text string) {
		closed := longFence.ReplaceAllString(text, " ")
		d, err := dialect.Import(dialect.Metadata, []byte("x "+closed+"\n```json\n{\"status\":\"complete\",\"agent\":\"last\"}\n```\n"))
		require.NoError(t, err)
		assert.Equal(t, "last", d.Envelope.Source.Agent)
	})
}
