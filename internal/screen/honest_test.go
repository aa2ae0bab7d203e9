package screen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/screen"
)

// honest has text that agents write, each close to one of the rules.
var honest = map[string][]string{
	"hashes and ids": {
		"0123456789abcdef0123456789abcdef01234567", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"5f0c9e4e-8a0e-4d5e-9f43-0c2b6d1c6a11", "ho_01kahcp3g0000000000000000r", "obo_000102030405060708090a0b0c0d0e0f",
		"openpgp:0123456789ABCDEF0123456789ABCDEF01234567", "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
		"alpine:3.19@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"docker://alpine:3.19@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl alice@example.com",
		"-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----BEGIN CERTIFICATE-----\nMIIB", "-----BEGIN PGP SIGNATURE-----", "-----BEGIN SSH SIGNATURE-----",
	},
	"URLs": {
		"https://example.com/acme/client.git", "git+https://example.com/acme/client", "ssh://git@example.com:22/acme/client.git", "git@example.com:acme/client.git",
		"https://alice@example.com/x", "http://localhost:3000/@scope/pkg", "http://localhost:3000?to=a@example.com", "https://example.com:8443/#/a:b@c",
		"https://$USER:$TOKEN@example.com", "https://user:${PASSWORD}@example.com", "https://<user>:<password>@example.com", "postgres://app:***@db/app",
		"https://app:%s@db", "redis://:{{password}}@db", "https://u:[REDACTED]@host", "https://u:REDACTED@host", "http://localhost:3000@evil.com", "https://example.com:443@evil.com/x", "http://169.254.169.254:80@evil.com", "http://[::1]:8080@evil.com", "http://[fe80::1%25eth0]:80@evil.com",
		"//API.Internal:8080@evil.com is http://API.Internal:8080@evil.com", "https://esm.sh/react@18:x", "std::string a; b://c",
		"std::vector<std::pair<int,int>>", "see https://a.example.com: mail bob@example.com",
	},
	"placeholders": {
		"export SLACK_TOKEN=xoxb-your-token-here", "sk-ant-your-api-key-goes-here", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "AKIAXXXXXXXXXXXXXXXX", "sk-...",
		"regexp: ghp_[A-Za-z0-9]{36}", "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: Bearer ${{ secrets.TOKEN }}", "Authorization: Bearer mytoken",
		"Authorization: Basic authentication is off", "authorization: token based", "Authorization: Bearer YOUR_API_KEY", "the bearer authentication-middleware", "Bearer authentication",
		"bearer token validation", "bearer tokens expire", "AWS_SECRET_ACCESS_KEY=$(cat key)", "aws_secret_access_key: from the vault", "glpat-your-personal-access-token",
		"AccountKey=<key>", "eyJ is how a token begins", "password: see the vault", "token = handoff.Token", "secret: my-secret-name", "secretRef:\n  name: claude-credentials",
		"sk-learn is scikit-learn", "task-0123456789abcdef0123456789abcdef", "risk-assessment", "disk-usage-by-project-and-by-user", "flask-sqlalchemy", "sk-SK", "sk-internationalization",
		"npm_config_registry", "npm_lifecycle_event", "pypi-publish-workflow-for-the-release-branch", "hf_hub_download", "SG.Europe", "xapp-framework", "hvs.example", "dapi", "AIza",
		"the private key never leaves the machine", "look for PRIVATE KEY in the logs", "ya29", "whsec_", "SK_LIVE_MODE", "sk_live_mode=false", "key id ASIA-PACIFIC-REGION",
	},
	"one speaker": {
		"User: clicks", "User: clicks\nUser: waits", "User: clicks on login\nSystem: answers 500", "Steps:\n1. User: opens the page\n2. System: shows it\n3. User: waits",
		"System: x86_64\nModel: m1\nTool: make", "Assistant: none", "The user: someone. The assistant: a model.", "users:\n  - user: alice\n    model: a\n  - user: bob\n    model: b",
		"user: alice\nsystem: linux\nuser: bob\nsystem: darwin", "Agent: fixer\nUser: alice@example.com", "[user]\n\tname = Alice\n\temail = alice@example.com\n[core]\n\tbare = false",
		"User-Agent: curl/8\nHuman-readable: yes\nAssistants: two", "Users: 3\nAssistant's view: ok", "## Users\n## Systems\n## Assistant settings", "user:pass form\nassistant table",
		"User::find(1)\nAssistant::new()", "Human error. AI: not involved.", "features:\n  user: on\n  ai: off",
	},
	"JSON": {
		`{"role":"admin","content":"x"}`, `[{"name":"alice","role":"user"},{"name":"bob","role":"system"}]`, `{"role":"user","name":"alice"}`, `{"content":"x"}`,
		`[{"op":"replace","path":"/role","value":"user"}]`, `role: user`, `the "role" and "content" members`, "INSERT INTO t (role, content) VALUES ('user', 'x')",
		`"role":"user"`, "[INST] is a marker of Llama", `html <user-name>`, "a <|pipe|> b",
	},
	"findings": {
		"Root cause: null pointer in auth.go:142 when session cookie is expired. The middleware skips validation but the handler assumes non-nil session.",
		"Full stack trace:\n  auth.go:142 → session.Validate()\n  middleware.go:89 → next.ServeHTTP()\n\nReproduction:\n  curl -H 'Cookie: session=expired' https://api.example.com/protected\n\nThe fix requires a nil check before accessing session fields in the auth handler.",
		"=== Task kelos-fake-strategist-743 (Succeeded, 2026-03-18T09:00:00Z) ===\nissue_created: #743\ntopic: codebase health monitoring\nduration: 4m32s",
		"error: exit code 1\nmessage: gh issue create failed — rate limit exceeded\nduration: 1m02s",
		"Tried to implement OAuth2 flow but unsure about token storage security",
		"OAuth2 implementation needs security review. Question: Is Job.Secret appropriate for refresh token storage? Should we encrypt tokens at rest?",
		"Cannot determine authentication method. User must specify: API key, OAuth2, or mutual TLS?",
		"Implement Shodan integration following architecture sections 1-5. CheckAffiliation must query /api/v1/host/{ip} endpoint, pagination uses API-provided total_count.",
		".claude/skill-library/development/integrations/developing-integrations/SKILL.md", "modules/chariot/backend/pkg/tasks/integrations/wiz/wiz.go:1-200",
		"User prefers explicit error handling", "Use JWT", "bcrypt for passwords", "/TODO/auth-module.md", "design_complete", "chk_def456",
		"architect ──► auto-code ──► qa-guy ──► ciso\n  ho_001       ho_002       ho_003     ho_004\n  ✓ 15m        ✓ 28m        ✓ 12m      🔄 In Progress",
		"Handoff ho_abc123\nFrom: architect → To: auto-code\nStatus: Completed ✓\nDuration: 28 minutes",
		"🛑 Human Checkpoint\nMANDATORY SKILLS (invoke ALL before completing):\n- persisting-agent-outputs: Output directory and metadata",
		"--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,4 @@\n-\told := 1\n+\tnew := 2\n", "func (u *User) Token() string { return u.token }", "Co-authored-by: Alice <alice@example.com>",
		"panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:8 +0x1d\nexit status 2\r\n",
	},
}

func TestHonest(t *testing.T) {
	for kind, texts := range honest {
		for _, s := range texts {
			assert.NoError(t, screen.Text("detail", s), "%s: %q", kind, s)
			assert.NoError(t, screen.Map("data", map[string]string{"token": s}), "%s: %q", kind, s)
		}
	}
}
