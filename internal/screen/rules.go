package screen

// alphabet is the set of characters in the tail of a token.
type alphabet string

const (
	lowerHex alphabet = "0123456789abcdef"
	upper    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum    alphabet = upper + "abcdefghijklmnopqrstuvwxyz"
	wide     alphabet = alnum + "-_" // base64url
	dotted   alphabet = wide + ".="
)

// token is a secret known by its shape: a prefix at the beginning of a word, and at least
// length more characters.
type token struct {
	rule   string
	prefix string
	tail   alphabet
	length int
	digit  bool // the tail must have a digit
	whole  bool // the tail must have exactly this length
}

// tokens are the shapes documented by providers or published by their scanners. Lengths are a
// little below the real ones where these have changed over time.
var tokens = [...]token{
	{rule: "age-key", prefix: "AGE-SECRET-KEY-1", tail: upper, length: 50},
	{rule: "anthropic-key", prefix: "sk-ant-", tail: wide, length: 16},
	{rule: "atlassian-token", prefix: "ATATT3", tail: dotted, length: 50},
	{rule: "aws-key-id", prefix: "AKIA", tail: upper, length: 16, whole: true},
	{rule: "aws-key-id", prefix: "ASIA", tail: upper, length: 16, whole: true},
	{rule: "databricks-token", prefix: "dapi", tail: lowerHex, length: 32},
	{rule: "digitalocean-token", prefix: "doo_v1_", tail: lowerHex, length: 64},
	{rule: "digitalocean-token", prefix: "dop_v1_", tail: lowerHex, length: 64},
	{rule: "docker-token", prefix: "dckr_pat_", tail: wide, length: 20},
	{rule: "github-token", prefix: "ghp_", tail: alnum, length: 30},
	{rule: "github-token", prefix: "gho_", tail: alnum, length: 30},
	{rule: "github-token", prefix: "ghu_", tail: alnum, length: 30},
	{rule: "github-token", prefix: "ghs_", tail: alnum, length: 30},
	{rule: "github-token", prefix: "ghr_", tail: alnum, length: 30},
	{rule: "github-token", prefix: "github_pat_", tail: wide, length: 22},
	{rule: "gitlab-token", prefix: "glpat-", tail: wide, length: 20},
	{rule: "gitlab-token", prefix: "gldt-", tail: wide, length: 20},
	{rule: "gitlab-token", prefix: "glptt-", tail: wide, length: 20},
	{rule: "gitlab-token", prefix: "glrt-", tail: wide, length: 20},
	{rule: "gitlab-token", prefix: "glcbt-", tail: wide, length: 20},
	{rule: "google-key", prefix: "AIza", tail: wide, length: 35},
	{rule: "google-oauth", prefix: "GOCSPX-", tail: wide, length: 24},
	{rule: "google-oauth", prefix: "ya29.", tail: wide, length: 20},
	{rule: "grafana-token", prefix: "glsa_", tail: alnum, length: 30},
	{rule: "groq-key", prefix: "gsk_", tail: alnum, length: 40},
	{rule: "huggingface-token", prefix: "hf_", tail: alnum, length: 30},
	{rule: "linear-key", prefix: "lin_api_", tail: alnum, length: 32},
	{rule: "npm-token", prefix: "npm_", tail: alnum, length: 30},
	{rule: "openai-key", prefix: "sk-proj-", tail: wide, length: 20},
	{rule: "openai-key", prefix: "sk-svcacct-", tail: wide, length: 20},
	{rule: "openai-key", prefix: "sk-admin-", tail: wide, length: 20},
	{rule: "openai-key", prefix: "sk-", tail: alnum, length: 20, digit: true},
	{rule: "openai-key", prefix: "sk-", tail: alnum, length: 40},
	{rule: "openrouter-key", prefix: "sk-or-v1-", tail: lowerHex, length: 32},
	{rule: "private-key", prefix: "b3BlbnNzaC1rZXktdjE", tail: alnum + "+/", length: 16},
	{rule: "pypi-token", prefix: "pypi-AgE", tail: wide, length: 16},
	{rule: "pypi-token", prefix: "pypi-", tail: alnum, length: 40},
	{rule: "rubygems-key", prefix: "rubygems_", tail: lowerHex, length: 48},
	{rule: "sendgrid-key", prefix: "SG.", tail: dotted, length: 40, digit: true},
	{rule: "shopify-token", prefix: "shpat_", tail: alnum, length: 32},
	{rule: "slack-token", prefix: "xoxa-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxb-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxe-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxe.", tail: dotted, length: 10},
	{rule: "slack-token", prefix: "xoxp-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxr-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxs-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xapp-", tail: wide, length: 20, digit: true},
	{rule: "slack-webhook", prefix: "hooks.slack.com/services/", tail: alnum + "/", length: 30, digit: true},
	{rule: "stripe-key", prefix: "sk_live_", tail: alnum, length: 10},
	{rule: "stripe-key", prefix: "rk_live_", tail: alnum, length: 10},
	{rule: "stripe-key", prefix: "sk_test_", tail: alnum, length: 16},
	{rule: "stripe-key", prefix: "rk_test_", tail: alnum, length: 16},
	{rule: "stripe-webhook", prefix: "whsec_", tail: alnum + "+/", length: 24},
	{rule: "vault-token", prefix: "hvs.", tail: wide, length: 24},
	{rule: "xai-key", prefix: "xai-", tail: alnum, length: 40},
}

// pattern is a secret known by its surroundings.
type pattern struct {
	rule   string
	needle string // part of the lower-case form of every text that matches
	match  func(s string) bool
}

// begin is beginsWord as an expression.
const begin = `(?:^|[^A-Za-z0-9]|\\[nrt]|%[0-9A-Fa-f]{2})`

var patterns = [...]pattern{
	{"private-key", "private key", matches(`-----? ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY`)},
	{"private-key", "putty-user-key-file-", matches(`PuTTY-User-Key-File-[0-9]+:`)},
	{"jwt", "eyj", matches(begin + `eyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{2,}\.`)},
	{"jwt", "eyj", matches(begin + `eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{"authorization-header", "authorization", captures(`(?i)authorization["'\\]*\s*[:=]\s*["'\\]*(?:bearer|token|basic|apikey)\s+([A-Za-z0-9._~+/=-]{8,})`, credential)},
	{"bearer-token", "bearer", captures(`(?i)`+begin+`bearer[ \t]+([A-Za-z0-9._~+/=-]{12,})`, credential)},
	{"aws-secret-key", "secret", matches(`(?i)(?:secret[_. -]?(?:access[_. -]?)?key|aws[_. -]?secret)(?:["'\\\s,]{1,60}value)?["'\\\s:=>]{1,8}[A-Za-z0-9/+]{40}(?:[^A-Za-z0-9/+=]|$)`)},
	{"azure-key", "accountkey=", matches(`AccountKey=[A-Za-z0-9+/]{60,}={0,2}`)},
	{"telegram-token", ":aa", matches(begin + `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`)},
	// An image may be pinned as name:tag@sha256:….
	{"url-password", "://", captures(`://(?:[^\s/?#@:"'<>\x60]*:[^\s/?#@]+@sha(?:256|512):|([^\s/?#@:"'<>\x60]*:[^\s/?#@"'<>\x60]+)@[A-Za-z0-9\[])`, password)},
}
