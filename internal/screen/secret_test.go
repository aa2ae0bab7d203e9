package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
	"githandoff/internal/screen"
)

// The secrets below are made up. They are split so that no scanner of this repository reports them.
func TestSecret(t *testing.T) {
	const (
		digits = "0123456789"
		hex    = "0123456789abcdef0123456789abcdef"
		mixed  = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3dE5fG7hI9jK1lM"
	)
	for rule, secrets := range map[string][]string{
		"private-key": {
			"-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEpAIBAAKCAQEA\n", "-----BEGIN PRIVATE" + " KEY-----", "-----BEGIN EC PRIVATE" + " KEY-----",
			"-----BEGIN OPENSSH PRIVATE" + " KEY-----", "-----BEGIN ENCRYPTED PRIVATE" + " KEY-----", "-----BEGIN PGP PRIVATE" + " KEY BLOCK-----",
			`"key":"-----BEGIN PRIVATE` + ` KEY-----\nMIIE"`, "PuTTY-User-Key" + "-File-3: ssh-ed25519", "b3BlbnNzaC1rZXktdjE" + "AAAAABG5vbmUAAAAEbm9uZQAAAA",
		},
		"age-key":        {"AGE-SECRET-" + "KEY-1" + strings.Repeat("QPZRY9X8", 7) + "GF"},
		"anthropic-key":  {"sk-" + "ant-api03-" + mixed, "sk-" + "ant-" + strings.Repeat("a", 24)},
		"openai-key":     {"sk-" + mixed[:48], "sk-" + "proj-" + mixed, "sk-" + "svcacct-" + mixed, "sk-" + strings.Repeat("a", 48), "sk-" + hex},
		"openrouter-key": {"sk-" + "or-v1-" + hex + hex},
		"aws-key-id":     {"AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Y34FZKBOKMUTVV7A", "AKIA" + digits + "ABCDEF"},
		"aws-secret-key": {
			"aws_secret_access_key = " + mixed[:40], `"SecretAccessKey": "` + mixed[:19] + "/+" + mixed[:19] + `"`, "AWS_SECRET_ACCESS_KEY=" + mixed[:40] + "\n",
			"- name: AWS_SECRET_ACCESS_KEY\n  value: " + mixed[:40], `{"name":"AWS_SECRET_ACCESS_KEY","value":"` + mixed[:40] + `"}`,
		},
		"azure-key":      {"AccountName=x;Account" + "Key=" + strings.Repeat("aB3/", 21) + "aA==;"},
		"github-token":   {"ghp_" + mixed[:36], "gho_" + mixed[:36], "ghu_" + mixed[:36], "ghs_" + mixed[:36], "ghr_" + mixed[:36], "github_pat_" + mixed[:22] + "_" + mixed, "ghp_" + strings.Repeat("a", 36)},
		"gitlab-token":   {"glpat-" + mixed[:20], "glft-" + mixed[:20], "glsoat-" + mixed[:20], "glrt-" + mixed[:20], "glpat-abcdefghijklmnopqrst"},
		"google-key":     {"AIza" + "SyA-" + mixed[:31]},
		"google-oauth":   {"ya29." + mixed, "GOCSPX-" + mixed[:28]},
		"slack-token":    {"xoxb-" + digits + "12-" + digits + "12-" + mixed[:24], "xoxp-" + mixed, "xoxa-2-" + mixed, "xoxr-" + mixed, "xoxs-" + mixed, "xoxc-" + mixed, "xoxe.xoxp-1-" + mixed},
		"slack-webhook":  {"https://hooks.slack.com/services/" + "T00000000/B00000000/" + mixed[:24]},
		"stripe-key":     {"sk_" + "live_" + mixed[:24], "rk_" + "live_" + mixed[:24], "sk_" + "test_" + mixed[:24]},
		"stripe-webhook": {"whsec_" + mixed[:32]},
		"npm-token":      {"npm_" + mixed[:36], "//registry.npmjs.org/:_authToken=npm_" + mixed[:36]},
		"pypi-token":     {"pypi-" + "AgEIcHlwaS5vcmcC" + mixed},
		"sendgrid-key":   {"SG." + mixed[:22] + "." + mixed[:43]},
		"vault-token":    {"hvs." + mixed, "hvb." + mixed + mixed},
		"docker-token":   {"dckr_pat_" + mixed[:27]},
		"linear-key":     {"lin_api_" + mixed[:40]},

		"bitbucket-token":   {"ATBB" + mixed[:32]},
		"buildkite-token":   {"bkua_" + hex + hex[:8]},
		"cerebras-key":      {"csk-" + mixed[:48]},
		"circleci-token":    {"CCIPAT_" + mixed[:22] + "_" + hex + hex[:8]},
		"discord-webhook":   {"https://discord.com/api/" + "webhooks/" + digits + "01234567/" + mixed, "https://discordapp.com/api/" + "webhooks/" + digits + "01234567/" + mixed},
		"doppler-token":     {"dp.pt." + mixed[:43], "dp.st.dev." + mixed[:43]},
		"e2b-key":           {"e2b_" + hex + hex[:8]},
		"figma-token":       {"figd_" + mixed[:40]},
		"fly-token":         {"FlyV1 fm2_" + mixed + mixed + "=", "fo1_" + mixed[:43]},
		"invitation":        {"pair1" + strings.Repeat("jmhmrxpc3t", 5), "githandoff join team1" + strings.Repeat("vjvlj7cbq6", 6), "PAIR1" + strings.Repeat("JMHMRXPC3T", 5), "Team1" + strings.Repeat("vjvlj7cbq6", 6)},
		"langsmith-key":     {"lsv2_pt_" + hex + "_" + hex[:10], "lsv2_sk_" + hex + "_" + hex[:10]},
		"netlify-token":     {"nfp_" + mixed[:36]},
		"new-relic-key":     {"NRAK-" + strings.ToUpper(mixed[:27])},
		"notion-token":      {"ntn_" + mixed[:46]},
		"nvidia-key":        {"nvapi-" + mixed + "_" + mixed[:20]},
		"onepassword-token": {"ops_" + "eyJ" + mixed + mixed},
		"perplexity-key":    {"pplx-" + mixed[:48]},
		"planetscale-token": {"pscale_tkn_" + mixed[:43], "pscale_pw_" + mixed[:43], "pscale_oauth_" + mixed[:43]},
		"postman-key":       {"PMAK-" + hex[:24] + "-" + hex + "ab"},
		"pulumi-token":      {"pul-" + hex + hex[:8]},
		"replicate-token":   {"r8_" + mixed[:37]},
		"sentry-token":      {"sntrys_" + "eyJpYXQiOjE3" + mixed + "=_" + mixed, "sntryu_" + hex + hex},
		"shopify-token":     {"shpat_" + hex, "shpss_" + hex, "shpca_" + hex, "shppa_" + hex},
		"square-token":      {"sq0atp-" + mixed[:22], "sq0csp-" + mixed[:43]},
		"supabase-token":    {"sbp_" + hex + hex[:8]},
		"tailscale-key":     {"tskey-auth-" + mixed[:12] + "CNTRL-" + mixed[:32]},
		"terraform-token":   {mixed[:14] + ".atlas" + "v1." + mixed + mixed[:17]},
		"telegram-token":    {digits + ":AA" + mixed[:33]},
		"jwt":               {"eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + "c2lnbmF0dXJl", "eyJhbGciOiJub25lIn0" + ".eyJzdWIiOiIxIn0.", "eyJhbGciOiJSU0EtT0FFUCJ9" + "." + mixed + "." + mixed[:16] + "." + mixed + "." + mixed[:22]},
		"authorization-header": {
			"Authorization: " + "Bearer abc123def", "curl -H 'authorization:bearer " + "0a1b2c3d4e'", `{"Authorization":"Basic ` + `dXNlcjpwYXNz"}`,
			"Authorization: " + "token " + hex, "Authorization: " + "Bearer " + mixed,
		},
		"bearer-token": {"Bearer mF_9.B5f" + "-4.1JqM", "the bearer " + hex, "BEARER\t" + mixed, "bearer 5f0c9e4e-8a0e-4d5e-9f43-" + "0c2b6d1c6a11"},
		"url-password": {
			"https://u:p" + "@host", "https://alice:s3cret" + "@example.com/x.git", "postgres://app:hunter2" + "@db:5432/app", "redis://:pw" + "@10.0.0.1",
			"git clone http://x-access-token:abc" + "@[::1]/r", "https://a:$x@h https://a:b" + "@h",
			// Not every number is a port, and not every dot is part of a host name.
			"https://alice:12345" + "@example.com", "https://alice.smith:12345" + "@example.com", "https://localhost:99999" + "@example.com",
			"http://localhost:80abc" + "@example.com", "http://localhost:0" + "@example.com", "https://1.2.3:80" + "@example.com", "https://[::1]:80abc" + "@example.com", "https://[x]:80" + "@example.com",
			"see http://localhost:3000@evil.example and https://a:b" + "@h",
		},
	} {
		for _, s := range secrets {
			for _, text := range []string{s, "key=" + s, "see \"" + s + "\" there", `quoted\n` + s, "url%3D" + s, "(" + s + ")"} {
				err := screen.Text("detail", text)
				if !assert.Error(t, err, "%s: %s", rule, text) {
					continue
				}
				requireRefusal(t, err, fault.Policy, "secret_found", "detail: looks like a secret (rule ")
				if text == s {
					assert.Contains(t, err.Error(), "(rule "+rule+")", s)
				}
				assert.NotContains(t, err.Error(), s)
			}
		}
	}
}
