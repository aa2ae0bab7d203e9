package screen

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lazy keeps the cost of compiling from processes that screen nothing.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

const (
	person    = `user|human`
	assistant = `assistant|ai assistant|ai|claude|chatgpt|gpt(?:-[0-9][0-9a-z.]*)?|gemini|copilot`
	third     = `system|developer|tool|agent|bot|model`

	role = `(?:(` + person + `)|(` + assistant + `)|(` + third + `))`
)

// marker takes a line beginning with a role: behind quote signs, list marks, emphasis or a
// time in brackets; in brackets, or in front of a colon inside or behind the emphasis, or
// alone in a heading.
var marker = lazy(`(?i)^[\s>*_-]{0,20}(?:\[[^\[\]]{1,40}\]\s{0,4})?(?:` +
	`#{1,6}\s{0,4}[*_]{0,3}` + role + `[*_:]{0,4}\s*$` +
	`|#{0,6}\s{0,4}[*_` + "`" + `]{0,3}` + role + `(?:\s{0,4}\([^()]{1,40}\))?[*_` + "`" + `]{0,3}\s{0,4}(?:：|:(?:[^:]|$))` +
	`|\*\*` + role + `\*\*\s*$` +
	`|[\[<]` + role + `[\]>])`)

// roleWords: every role begins with one of them.
var roleWords = []string{
	"user", "human", "assistant", "ai", "claude", "chatgpt", "gpt", "gemini", "copilot",
	"system", "developer", "tool", "agent", "bot", "model",
}

// mayMark passes over most lines marker does not take: compiling it takes longer than all the
// rest of reading a short handoff.
func mayMark(line string) bool {
	if !strings.ContainsAny(line, "#*[<:：") {
		return false
	}
	line = strings.ToLower(strings.ToUpper(line)) // like (?i), which takes ſ for an s
	return slices.ContainsFunc(roleWords, func(role string) bool {
		for from := 0; ; from++ {
			i := strings.Index(line[from:], role)
			if i < 0 {
				return false
			}
			if from += i; from == 0 || !strings.ContainsRune(string(alnum), rune(line[from-1])) {
				return true
			}
		}
	})
}

// plainRoles count in lower case as well. The others are ordinary keys there (model:, tool:)
// of quoted configuration.
var plainRoles = []string{"user", "human", "assistant"}

const lineHead = 200 // bytes of a line that are examined

type speaker int

const (
	nobody speaker = iota
	thePerson
	theAssistant
	aThird
)

// conversation counts who has spoken so far, over one text or several.
type conversation struct {
	last  speaker
	turns [aThird + 1]int
}

// hear reads the lines of s and reports whether there is a conversation by now.
func (c *conversation) hear(s string) bool {
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		who := speakerOf(line)
		if who == nobody || who == c.last {
			continue
		}
		c.last = who
		c.turns[who]++
		if c.turns[thePerson] > 0 && c.turns[theAssistant] > 0 || who != aThird && c.turns[who] == 2 {
			return true
		}
	}
	return false
}

func speakerOf(line string) speaker {
	line = line[:min(len(line), lineHead)]
	if !mayMark(line) {
		return nobody
	}
	m := marker().FindStringSubmatchIndex(line)
	for group := 1; 2*group < len(m); group++ {
		if m[2*group] < 0 {
			continue
		}
		name := line[m[2*group]:m[2*group+1]]
		if name[0] >= 'a' && !slices.Contains(plainRoles, name) {
			return nobody
		}
		return speaker((group-1)%3 + 1)
	}
	return nobody
}

// Quotes may be escaped once or more, where JSON stands in a JSON string.
const messageRole = `\\*["']role\\*["']\s*:\s*\\*["'](?:user|assistant|system|human|ai|tool|function|developer|model)\\*["']`

var (
	message      = lazy(messageRole)
	messageBody  = lazy(`\\*["'](?:content|parts)\\*["']\s*:`)
	messageArray = lazy(`\[\s*\{[^{}\[\]]*` + messageRole)
)

// chatMessages reports whether JSON in s has the messages of a chat: two, or one
// in an array.
func chatMessages(s string) bool {
	if !strings.Contains(s, "role") {
		return false
	}
	roles := len(message().FindAllStringIndex(s, 2))
	bodies := len(messageBody().FindAllStringIndex(s, 2))
	return roles == 2 && bodies == 2 || bodies > 0 && messageArray().MatchString(s)
}

// The tokens of ChatML, of Llama 3 and 2, of Gemma and of Phi.
var templateTokens = []string{"<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|user|>", "<|assistant|>"}

func chatTemplate(s string) bool {
	_, behind, opened := strings.Cut(s, "[INST]")
	return opened && strings.Contains(behind, "[/INST]") ||
		slices.ContainsFunc(templateTokens, func(token string) bool { return strings.Contains(s, token) })
}
