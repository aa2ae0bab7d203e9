package screen

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var word = lazy(`^[A-Za-z]{1,14}[0-9]{0,2}$`)

// secret names the rule broken by s; "" if none. The name under which s stands counts as
// written in front of it, as in name=s.
func secret(name, s string) string {
	if len(s) < 8 {
		return "" // shorter than any secret below
	}
	for _, t := range tokens {
		if t.in(s) {
			return t.rule
		}
	}
	if name != "" {
		s = name + "=" + s
	}
	lower := strings.ToLower(s)
	for _, p := range patterns {
		if strings.Contains(lower, p.needle) && p.match(s) {
			return p.rule
		}
	}
	return ""
}

// in looks for the token. At each prefix it reads a bounded number of characters, so a text of
// prefixes costs no more than any other.
func (t token) in(s string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], t.prefix)
		if i < 0 {
			return false
		}
		from += i + len(t.prefix)
		if !beginsWord(s, from-len(t.prefix)) {
			continue
		}
		tail := s[from:min(len(s), from+max(t.length+1, 64))]
		end := strings.IndexFunc(tail, func(r rune) bool { return !strings.ContainsRune(string(t.tail), r) })
		if end >= 0 {
			tail = tail[:end]
		}
		switch {
		case len(tail) < t.length, t.whole && len(tail) > t.length:
		case t.digit && !strings.ContainsAny(tail, "0123456789"):
		case !placeholder(tail):
			return true
		}
	}
}

// beginsWord reports whether a word may begin at i: behind anything but a letter
// or digit, or behind an escape (\n in quoted text, %3D in a URL).
func beginsWord(s string, i int) bool {
	if i == 0 || !strings.ContainsRune(string(alnum), rune(s[i-1])) {
		return true
	}
	return i >= 2 && s[i-2] == '\\' || i >= 3 && s[i-3] == '%'
}

// placeholder reports whether a tail stands for a secret rather than being one:
// all x, or words (your-token-here).
func placeholder(tail string) bool {
	return strings.Trim(tail, "xX.*_-") == "" || words(tail)
}

func words(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_./+=~", r) })
	for _, p := range parts {
		if !word().MatchString(p) {
			return false
		}
	}
	return len(parts) > 1
}

// matches makes a check of a pattern.
func matches(expr string) func(string) bool {
	re := lazy(expr)
	return func(s string) bool { return re().MatchString(s) }
}

// captures makes a check of a pattern whose group must also be a secret. A match
// without the group is none.
func captures(expr string, real func(string) bool) func(string) bool {
	re := lazy(expr)
	return func(s string) bool {
		for {
			m := re().FindStringSubmatchIndex(s)
			if m == nil {
				return false
			}
			if m[2] >= 0 && real(s[m[2]:m[3]]) {
				return true
			}
			s = s[m[1]:]
		}
	}
}

// credential tells what follows a scheme in a header from prose about it.
func credential(s string) bool {
	lowerCase := len(s) < 24 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz.") == ""
	return !lowerCase && !placeholder(s)
}

// password tells a password in a URL, behind the name of a user, from a variable in its place
// and from the port of a host in the place of the user.
func password(login string) bool {
	if host, after, bracketed := strings.Cut(strings.TrimPrefix(login, "["), "]:"); bracketed && port(after) {
		if _, err := netip.ParseAddr(host); err == nil {
			return false
		}
	}
	user, s, _ := strings.Cut(login, ":")
	return !strings.ContainsAny(s[:1], "$%{[*") && strings.Trim(s, "xX.*") != "" && !strings.EqualFold(s, "redacted") &&
		!(hostname(user) && port(s))
}

// hostname is narrow: a user may be called alice.smith.
func hostname(s string) bool {
	labels := strings.Split(strings.ToLower(s), ".")
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" {
		return len(labels) == 4 // an IPv4 address
	}
	return last == "localhost" || len(labels) > 1 && slices.Contains(topDomains[:], last)
}

// topDomains end the names of hosts common in texts about requests.
var topDomains = [...]string{
	"app", "cloud", "com", "dev", "edu", "example", "gov", "internal", "invalid", "io", "lan", "local", "localdomain", "net", "org", "test",
}

func port(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

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
