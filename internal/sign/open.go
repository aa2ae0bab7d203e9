package sign

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
	"githandoff/internal/private"
)

func (o Options) named(ctx context.Context) (Signer, error) {
	key := strings.TrimPrefix(o.Key, "key::") // git's prefix for a key given as text
	key = FromFingerprint(key)
	if o.Env != "" {
		if s, err := o.fromEnv(); err == nil && s.KID() == key {
			return s, nil
		}
	}
	switch {
	case strings.HasPrefix(key, sshPrefix):
		return o.fromAgent(ctx, key)
	case isSSHLine(key):
		public, err := ParsePublic([]byte(key))
		if err != nil {
			return nil, err
		}
		return o.fromAgent(ctx, public.kid)
	case isKeyFile(key):
		return o.fromFile(ctx, key)
	}
	s, err := o.Keystore.Load(key)
	if fault.CodeOf(err) == fault.NotFound || fault.CodeOf(err) == fault.Usage {
		return o.fromGPG(ctx, strings.TrimPrefix(key, openpgpPrefix))
	}
	return s, err
}

func (o Options) fromEnv() (Signer, error) {
	text := []byte(strings.TrimSpace(o.Env) + "\n")
	if bytes.HasPrefix(text, []byte(pgpPrivateArmor.begin())) {
		s, err := newPGPSigner(text, o.Keystore.clock())
		if err == nil {
			err = s.unlock(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("$GITHANDOFF_KEY: %w", err)
		}
		return s, nil
	}
	key, err := ssh.ParsePrivateKey(text)
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		return nil, fault.New(fault.Unavailable, fault.KeyLocked, "the key in $GITHANDOFF_KEY is protected by a passphrase").
			WithHints(fault.Fact("a key in the environment has no passphrase; ssh-keygen -p takes it off a copy"))
	}
	if err != nil { // without %w: no message may quote a private key
		return nil, badKey("$GITHANDOFF_KEY: neither an armored OpenPGP private key nor an OpenSSH one").
			WithHints(fault.Fact("the variable holds the text of a key; --key names a file"))
	}
	return newSSHSigner(key)
}

// fromFile takes the file of an OpenPGP private key, or an SSH key file. ssh-agent signs for a
// public SSH key, for a private one with a passphrase, and for one of a security key. If the agent does not hold
// the key, the private file beside a public one is tried, as ssh-keygen does.
func (o Options) fromFile(ctx context.Context, path string) (Signer, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // reading a pipe would block, and the file is read twice
		return nil, badKey("key file %s is not a regular file", path).WithHints(fault.Fact("$GITHANDOFF_KEY takes the text of a key"))
	}
	var b []byte
	if err == nil && info.Size() <= MaxKey {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fault.New(fault.NotFound, fault.NoKey, "read key file: %w", err).
			WithHints(fault.See("init").Because("with --key FILE it gives this worktree the key again, if the file has moved"))
	}
	if bytes.HasPrefix(b, []byte(pgpPrivateArmor.begin())) {
		return o.fromPGPFile(path)
	}
	if public, err := ParsePublic(b); err == nil {
		if strings.HasPrefix(public.kid, openpgpPrefix) {
			return nil, fault.New(fault.Usage, fault.PublicKey, "%s is a public key: to sign, the secret one is needed", path).
				WithHints(fault.Run("githandoff", "key", "show").Because("lists the secret keys that are here"))
		}
		s, agentErr := o.fromAgent(ctx, public.kid)
		if agentErr == nil {
			return s, nil
		}
		if secret, ok := strings.CutSuffix(path, ".pub"); ok {
			if s, err := readSSHPrivate(secret); err == nil && s.KID() == public.kid {
				return s, nil
			}
		}
		return nil, agentErr
	} else if isSSHLine(string(b)) {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	if !bytes.Contains(b, []byte("PRIVATE KEY")) { // checked before the mode: only a private key must be closed to others
		return nil, badKey("%s is neither an armored OpenPGP private key nor an OpenSSH one", path)
	}
	return o.fromSSHPrivate(ctx, path, b)
}

// fromSSHPrivate takes a private SSH key file of this content. If the file cannot sign alone, because it has a
// passphrase or belongs to a security key, ssh-agent signs.
func (o Options) fromSSHPrivate(ctx context.Context, path string, b []byte) (Signer, error) {
	s, err := readSSHPrivate(path)
	kid, why := KID(""), "is protected by a passphrase"
	add := fault.Run("ssh-add", path).Because("asks for the passphrase, and lets ssh-agent hold the key")
	if missing, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		if missing.PublicKey == nil { // older formats do not contain the public key
			return nil, fault.New(fault.Unavailable, fault.KeyLocked, "key file %s %s", path, why).
				WithHints(fault.Run("ssh-add", path).Because("lets ssh-agent hold it; --key then names its .pub file"))
		}
		kid = sshKID(missing.PublicKey)
	} else if fault.CodeOf(err) == fault.Invalid {
		kid, why = securityKey(b), "is that of a security key"
		add = fault.Run("ssh-add", path).Because("lets ssh-agent hold the key")
	}
	if kid == "" {
		return s, err
	}
	s, err = o.fromAgent(ctx, kid)
	if f := fault.As(err); f != nil && f.Reason == fault.KeyLocked {
		err = fault.New(fault.Unavailable, fault.KeyLocked, "key file %s %s, and %w", path, why, err).
			WithHints(append(f.Hints, add)...)
	}
	return s, err
}

// securityKey returns the key of an OpenSSH private file that only tells a security key, such as a FIDO token,
// which of its keys signs; "" for any other file. [ssh.ParsePrivateKey] refuses such a file.
func securityKey(file []byte) KID {
	block, _ := pem.Decode(file)
	if block == nil {
		return ""
	}
	fields, ok := bytes.CutPrefix(block.Bytes, []byte("openssh-key-v1\x00"))
	var parts struct {
		Cipher, KDF, KDFOptions string
		Keys                    uint32
		Public, Private         string
	}
	if !ok || ssh.Unmarshal(fields, &parts) != nil {
		return ""
	}
	key, err := ssh.ParsePublicKey([]byte(parts.Public))
	if err != nil || key.Type() != ssh.KeyAlgoSKED25519 && key.Type() != ssh.KeyAlgoSKECDSA256 {
		return ""
	}
	return sshKID(key)
}

// readKeyFile refuses a key readable by others, as ssh does. Unlike trust files, keys are
// often symbolic links.
func readKeyFile(path string) ([]byte, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, fault.NoKey, "read key file: %w", err)
	}
	b, err := private.Read(target, 0o077, MaxKey)
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	return b, nil
}

func (o Options) fromPGPFile(path string) (Signer, error) {
	b, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	s, err := newPGPSigner(b, o.Keystore.clock())
	if err == nil {
		err = s.unlock(o.Keystore.Passphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return s, nil
}

func readSSHPrivate(path string) (Signer, error) {
	b, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePrivateKey(b)
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		return nil, err
	}
	if err != nil {
		return nil, badKey("key file %s is not an SSH key of a kind that is supported: Ed25519, ECDSA or RSA", path)
	}
	return newSSHSigner(key)
}
