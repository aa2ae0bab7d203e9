package sign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// gpgSigner signs with a key that only gpg holds, or a hardware token behind gpg.
type gpgSigner struct {
	identity
	run     *gitexec.Runner
	program string
	now     func() time.Time
	waiting func() (done func())
}

// Sign overrides the settings of gpg.conf for the form of a signature, and keeps gpg from
// asking anybody: --batch alone does not.
func (s *gpgSigner) Sign(ctx context.Context, namespace string, message []byte) ([]byte, error) {
	defer s.waiting()()
	out, err := s.run.Run(ctx, gitexec.Cmd{
		Name: s.program, Args: []string{
			"--status-fd=2", "--batch", "--no-tty", "--pinentry-mode", "error",
			"--no-textmode", "--digest-algo", "SHA512", "--default-sig-expire", "0", "--no-ask-sig-expire",
			"-bsau", strings.TrimPrefix(s.public.kid, openpgpPrefix),
		},
		Stdin: bytes.NewReader(message), Timeout: gitexec.SignerTimeout, MaxOutput: 4 * maxSignature,
	})
	if err != nil {
		return nil, s.failure(err)
	}
	armored, err := plainSignature(out)
	if err == nil {
		err = Verify(s.public, namespace, message, armored)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer of gpg: %w", err)
	}
	return armored, nil
}

// plainSignature strips the headers of a signature and wraps it as we do.
func plainSignature(armored []byte) ([]byte, error) {
	var raw []byte
	block, err := pgparmor.Decode(bytes.NewReader(armored))
	if err == nil {
		raw, err = io.ReadAll(block.Body)
	}
	if err != nil {
		return nil, fault.New(fault.Denied, fault.SignatureInvalid, "read a signature: %w", err)
	}
	return pgpSignatureArmor.encode(raw), nil
}

// Codes of libgpg-error.
const noSecretKey, unusableSecretKey, noAgent, noPinentry = 17, 54, 77, 85

func (s *gpgSigner) locked() error {
	return lockedKey(s.KID()).WithHints(fault.Run("gpg", "-o", "/dev/null", "-su", strings.TrimPrefix(s.public.kid, openpgpPrefix), "/dev/null").
		Because("asks for the passphrase, and lets gpg-agent hold it"))
}

// unusable says why gpg holds a key and does not sign with it.
func (s *gpgSigner) unusable() error {
	if err := s.public.ValidAt(s.now()); err != nil {
		return err
	}
	return fault.New(fault.Denied, fault.KeyExpired, "no part of key %s may sign now: it expired, was revoked, or is for something else", s.KID()).
		WithHints(fault.Run("gpg", "--list-keys", strings.TrimPrefix(s.KID(), openpgpPrefix)).Because("shows until when each part is valid, and what for"))
}

// failure reads gpg's status lines (its doc/DETAILS), never its prose.
func (s *gpgSigner) failure(err error) error {
	e, ok := errors.AsType[*gitexec.Error](err)
	if !ok || e.Code < 0 {
		return gpgUnavailable(err)
	}
	switch statusCode(e.Stderr, "FAILURE sign") {
	case noPinentry:
		return s.locked()
	case noSecretKey:
		return noGPGKey(s.KID())
	case unusableSecretKey:
		return s.unusable()
	}
	return fault.New(fault.Unavailable, fault.SignerUnavailable, "gpg cannot sign with %s: %w", s.KID(), err)
}

// statusCode returns libgpg-error's code, the low 16 bits of a number, from the first of gpg's status
// lines about an event; 0 if there is none.
func statusCode(said, event string) uint16 {
	for line := range strings.Lines(said) {
		var number uint32
		if n, _ := fmt.Sscanf(line, "[GNUPG:] "+event+" %d", &number); n == 1 {
			return uint16(number) //nolint:gosec // the upper bits name the part of gpg that failed
		}
	}
	return 0
}

func gpgUnavailable(err error) error {
	return fault.New(fault.Unavailable, fault.SignerUnavailable, "run gpg: %w", err).
		WithHints(fault.Fact("gpg must be installed, or named by git config gpg.program"))
}

func noGPGKey(name string) error {
	return fault.New(fault.NotFound, fault.NoKey, "neither the keystore nor gpg has a secret key for %q", name).
		WithHints(fault.Run("githandoff", "key", "show").Because("lists the keystore"), fault.Run("gpg", "--list-secret-keys").Because("lists those of gpg"))
}

// fromGPG finds the one key gpg can sign with under a name.
func (o Options) fromGPG(ctx context.Context, name string) (Signer, error) {
	s := &gpgSigner{run: o.Runner, program: cmp.Or(o.GPGProgram, "gpg"), now: o.Keystore.clock(), waiting: o.waitingFor("gpg")}
	query, ok := gpgQuery(name)
	if !ok || o.Runner == nil {
		return nil, noGPGKey(name)
	}
	list, err := s.run.Run(ctx, gitexec.Cmd{
		Name: s.program, Args: []string{"--batch", "--no-tty", "--status-fd", "1", "--with-colons", "--list-secret-keys", "--", query},
		Timeout: gitexec.SignerTimeout,
	})
	if err != nil && gitexec.ExitCode(err) < 0 {
		return nil, gpgUnavailable(err)
	}
	found := secretKeys(list)
	switch {
	case len(found) == 0 && statusCode(string(list), "ERROR keylist.getkey") == noAgent:
		return nil, fault.New(fault.Unavailable, fault.SignerUnavailable, "gpg finds no secret key without its agent: %w", err).
			WithHints(fault.Run("gpg-connect-agent", "/bye").Because("starts the agent, or says why it does not start"))
	case len(found) == 0:
		return nil, noGPGKey(name)
	case len(found) > 1:
		return nil, fault.New(fault.Usage, fault.Ambiguous, "gpg has %d secret keys for %q", len(found), name).
			WithHints(fault.Fact("their fingerprints are %s", strings.Join(found, ", ")))
	}
	export, err := s.run.Run(ctx, gitexec.Cmd{
		Name: s.program, Args: []string{"--batch", "--no-tty", "--armor", "--ignore-time-conflict", "--export-options", "export-minimal", "--export", "--", found[0]},
		Timeout: gitexec.SignerTimeout,
	})
	if err != nil {
		return nil, gpgUnavailable(err)
	}
	if s.public, err = ParsePublic(export); err != nil {
		return nil, fmt.Errorf("key %q of gpg: %w", name, err)
	}
	return s, nil
}

// gpgQuery turns a name into an exact query. By default gpg matches any part of any user id, and so
// could find a key that nobody meant.
func gpgQuery(name string) (string, bool) {
	digits := strings.TrimPrefix(name, "0x")
	if b, err := hex.DecodeString(digits); err == nil && len(b) >= 8 {
		return digits, true
	}
	switch {
	case strings.Contains(name, "<"):
		return "=" + name, true
	case strings.Contains(name, "@"):
		return "<" + name + ">", true
	}
	return "", false
}

// secretKeys reads the fingerprints of the primary keys out of gpg's --with-colons listing:
// the fpr record after each sec record.
func secretKeys(listing []byte) []string {
	var found []string
	primary := false
	for line := range strings.Lines(string(listing)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		switch {
		case fields[0] == "sec":
			primary = true
		case fields[0] == "fpr" && primary && len(fields) > 9:
			found = append(found, fields[9])
			primary = false
		}
	}
	return found
}
