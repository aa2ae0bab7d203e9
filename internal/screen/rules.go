package screen

// alphabet is the set of characters in the tail of a token.
type alphabet string

const (
	lowerHex alphabet = "0123456789abcdef"
	upper    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum    alphabet = upper + "abcdefghijklmnopqrstuvwxyz"
	base32   alphabet = "abcdefghijklmnopqrstuvwxyz234567"
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
	{rule: "bitbucket-token", prefix: "ATBB", tail: alnum, length: 28, digit: true},
	{rule: "buildkite-token", prefix: "bkua_", tail: lowerHex, length: 40},
	{rule: "cerebras-key", prefix: "csk-", tail: alnum, length: 40},
	{rule: "circleci-token", prefix: "CCIPAT_", tail: wide, length: 40},
	{rule: "databricks-token", prefix: "dapi", tail: lowerHex, length: 32},
	{rule: "digitalocean-token", prefix: "doo_v1_", tail: lowerHex, length: 64},
	{rule: "digitalocean-token", prefix: "dop_v1_", tail: lowerHex, length: 64},
	{rule: "discord-webhook", prefix: "discord.com/api/webhooks/", tail: wide + "/", length: 60, digit: true},
	{rule: "discord-webhook", prefix: "discordapp.com/api/webhooks/", tail: wide + "/", length: 60, digit: true},
	{rule: "docker-token", prefix: "dckr_pat_", tail: wide, length: 20},
	{rule: "doppler-token", prefix: "dp.pt.", tail: alnum, length: 40},
	{rule: "doppler-token", prefix: "dp.st.", tail: dotted, length: 40, digit: true},
	{rule: "e2b-key", prefix: "e2b_", tail: lowerHex, length: 40},
	{rule: "figma-token", prefix: "figd_", tail: wide, length: 36},
	{rule: "fly-token", prefix: "fm2_", tail: alnum + "+/=", length: 60},
	{rule: "fly-token", prefix: "fo1_", tail: wide, length: 40},
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
	{rule: "gitlab-token", prefix: "glft-", tail: wide, length: 20},
	{rule: "gitlab-token", prefix: "glsoat-", tail: wide, length: 20},
	{rule: "google-key", prefix: "AIza", tail: wide, length: 35},
	{rule: "google-oauth", prefix: "GOCSPX-", tail: wide, length: 24},
	{rule: "google-oauth", prefix: "ya29.", tail: wide, length: 20},
	{rule: "grafana-token", prefix: "glsa_", tail: alnum, length: 30},
	{rule: "groq-key", prefix: "gsk_", tail: alnum, length: 40},
	{rule: "huggingface-token", prefix: "hf_", tail: alnum, length: 30},
	{rule: "invitation", prefix: "PAIR1", tail: upper, length: 40}, // join takes capitals as well
	{rule: "invitation", prefix: "Pair1", tail: base32, length: 40},
	{rule: "invitation", prefix: "TEAM1", tail: upper, length: 40},
	{rule: "invitation", prefix: "Team1", tail: base32, length: 40},
	{rule: "invitation", prefix: "pair1", tail: base32, length: 40},
	{rule: "invitation", prefix: "team1", tail: base32, length: 40},
	{rule: "langsmith-key", prefix: "lsv2_pt_", tail: lowerHex + "_", length: 40},
	{rule: "langsmith-key", prefix: "lsv2_sk_", tail: lowerHex + "_", length: 40},
	{rule: "linear-key", prefix: "lin_api_", tail: alnum, length: 32},
	{rule: "netlify-token", prefix: "nfp_", tail: alnum, length: 36},
	{rule: "new-relic-key", prefix: "NRAK-", tail: upper, length: 27},
	{rule: "notion-token", prefix: "ntn_", tail: alnum, length: 40},
	{rule: "npm-token", prefix: "npm_", tail: alnum, length: 30},
	{rule: "nvidia-key", prefix: "nvapi-", tail: wide, length: 60},
	{rule: "onepassword-token", prefix: "ops_eyJ", tail: wide, length: 60},
	{rule: "openai-key", prefix: "sk-proj-", tail: wide, length: 20},
	{rule: "openai-key", prefix: "sk-svcacct-", tail: wide, length: 20},
	{rule: "openai-key", prefix: "sk-admin-", tail: wide, length: 20},
	{rule: "openai-key", prefix: "sk-", tail: alnum, length: 20, digit: true},
	{rule: "openai-key", prefix: "sk-", tail: alnum, length: 40},
	{rule: "openrouter-key", prefix: "sk-or-v1-", tail: lowerHex, length: 32},
	{rule: "perplexity-key", prefix: "pplx-", tail: alnum, length: 40},
	{rule: "planetscale-token", prefix: "pscale_oauth_", tail: dotted, length: 32},
	{rule: "planetscale-token", prefix: "pscale_pw_", tail: dotted, length: 32},
	{rule: "planetscale-token", prefix: "pscale_tkn_", tail: dotted, length: 32},
	{rule: "postman-key", prefix: "PMAK-", tail: lowerHex + "-", length: 50},
	{rule: "private-key", prefix: "b3BlbnNzaC1rZXktdjE", tail: alnum + "+/", length: 16},
	{rule: "pulumi-token", prefix: "pul-", tail: lowerHex, length: 40},
	{rule: "pypi-token", prefix: "pypi-AgE", tail: wide, length: 16},
	{rule: "pypi-token", prefix: "pypi-", tail: alnum, length: 40},
	{rule: "replicate-token", prefix: "r8_", tail: alnum, length: 37},
	{rule: "rubygems-key", prefix: "rubygems_", tail: lowerHex, length: 48},
	{rule: "sendgrid-key", prefix: "SG.", tail: dotted, length: 40, digit: true},
	{rule: "sentry-token", prefix: "sntrys_", tail: alnum + "+/=_", length: 60},
	{rule: "sentry-token", prefix: "sntryu_", tail: lowerHex, length: 64},
	{rule: "shopify-token", prefix: "shpat_", tail: alnum, length: 32},
	{rule: "shopify-token", prefix: "shpca_", tail: alnum, length: 32},
	{rule: "shopify-token", prefix: "shppa_", tail: alnum, length: 32},
	{rule: "shopify-token", prefix: "shpss_", tail: alnum, length: 32},
	{rule: "slack-token", prefix: "xoxa-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxb-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxe-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxe.", tail: dotted, length: 10},
	{rule: "slack-token", prefix: "xoxp-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxr-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xoxs-", tail: wide, length: 10},
	{rule: "slack-token", prefix: "xapp-", tail: wide, length: 20, digit: true},
	{rule: "slack-token", prefix: "xoxc-", tail: wide, length: 10},
	{rule: "slack-webhook", prefix: "hooks.slack.com/services/", tail: alnum + "/", length: 30, digit: true},
	{rule: "square-token", prefix: "sq0atp-", tail: wide, length: 22},
	{rule: "square-token", prefix: "sq0csp-", tail: wide, length: 43},
	{rule: "stripe-key", prefix: "sk_live_", tail: alnum, length: 10},
	{rule: "stripe-key", prefix: "rk_live_", tail: alnum, length: 10},
	{rule: "stripe-key", prefix: "sk_test_", tail: alnum, length: 16},
	{rule: "stripe-key", prefix: "rk_test_", tail: alnum, length: 16},
	{rule: "stripe-webhook", prefix: "whsec_", tail: alnum + "+/", length: 24},
	{rule: "supabase-token", prefix: "sbp_", tail: lowerHex, length: 40},
	{rule: "tailscale-key", prefix: "tskey-", tail: wide, length: 24, digit: true},
	{rule: "vault-token", prefix: "hvs.", tail: wide, length: 24},
	{rule: "vault-token", prefix: "hvb.", tail: wide, length: 60},
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
	{"terraform-token", ".atlasv1.", matches(begin + `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}`)},
	{"azure-key", "accountkey=", matches(`AccountKey=[A-Za-z0-9+/]{60,}={0,2}`)},
	{"telegram-token", ":aa", matches(begin + `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`)},
	// An image may be pinned as name:tag@sha256:….
	{"url-password", "://", captures(`://(?:[^\s/?#@:"'<>\x60]*:[^\s/?#@]+@sha(?:256|512):|([^\s/?#@:"'<>\x60]*:[^\s/?#@"'<>\x60]+)@[A-Za-z0-9\[])`, password)},
}
