package screen

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Secret names the rule by which a line of a file looks like a secret; "" if none.
func Secret(line string) string { return secret("", line) }

var keyFiles = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(\.env(\..*)?|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|tfstate)|id_(rsa|dsa|ecdsa|ed25519)(_.*)?|` +
		`[._]?netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|credentials|kubeconfig)$`)
})

// examples are endings of files showing the form of a secret file without a secret.
var examples = []string{".example", ".sample", ".template", ".dist", ".pub"}

// KeyFile reports whether a file is named as files with keys and passwords are.
func KeyFile(name string) bool {
	base := path.Base(name)
	return !slices.Contains(examples, strings.ToLower(path.Ext(base))) && keyFiles().MatchString(base)
}
