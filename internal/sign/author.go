package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"

	"githandoff/internal/fault"
)

// ClaimedSigners maps a signature to the pinned key it names. It takes looser forms than
// [Trust.Verify], as git or gpg may still accept them: a comment in the armor, other line
// lengths, text behind it. It proves nothing, but with it no agent's commit is overlooked.
type ClaimedSigners struct{ names []authorName }

// authorName is a key as signatures name it: the short id of an OpenPGP key or subkey, which is the
// end of its fingerprint, or an SSH key without the name of its type. A certificate has another
// type name, followed by the same key.
type authorName struct {
	kid  KID
	name []byte
}

// ClaimedSigners knows the pinned keys selected by is.
func (t *Trust) ClaimedSigners(is func(Key) bool) *ClaimedSigners {
	a := &ClaimedSigners{}
	for _, k := range KeysOf(t) {
		copies, err := k.pin.keys()
		if err != nil || !is(k) {
			continue // a key that cannot be read verifies nothing
		}
		for _, public := range copies {
			if public.ssh != nil {
				a.names = append(a.names, authorName{k.KID(), untyped(public.ssh.Marshal())})
				continue
			}
			a.names = append(a.names, shortID(k.KID(), public.pgp.PrimaryKey.KeyId))
			for _, sub := range public.pgp.Subkeys {
				a.names = append(a.names, shortID(k.KID(), sub.PublicKey.KeyId))
			}
		}
	}
	return a
}

// untyped returns an SSH key without its leading type string (RFC 4253, section 6.6).
func untyped(key []byte) []byte { return key[4+binary.BigEndian.Uint32(key):] }

func shortID(kid KID, id uint64) authorName {
	return authorName{kid, binary.BigEndian.AppendUint64(nil, id)}
}

// Of returns the pinned key a signature claims to be from, "" if it claims none. Text other
// than a signature of OpenPGP or SSH claims none. An unreadable signature, or one with
// anything besides signatures, is refused with signature_invalid: gpg unpacks more than this
// package.
func (a *ClaimedSigners) Of(armored []byte) (KID, error) {
	raw, err := openLoosely(string(armored))
	if err != nil {
		return "", fault.New(fault.Denied, fault.SignatureInvalid, "read the signer: %w", err)
	}
	for _, n := range a.names {
		if bytes.Contains(raw, n.name) {
			return n.kid, nil
		}
	}
	return "", nil
}

// openLoosely unwraps a signature. It returns nothing for a signature of another kind.
func openLoosely(text string) ([]byte, error) {
	const begin = "-----BEGIN "
	ssh := strings.Contains(text, begin+"SSH ")
	switch {
	case !ssh && !strings.Contains(text, begin+"PGP "):
		return nil, nil
	case strings.Count(text, begin) > 1:
		return nil, errors.New("more than one block")
	case ssh:
		return openSSHLoosely(text)
	}
	block, err := pgparmor.Decode(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("its armor: %w", err)
	}
	raw, err := io.ReadAll(block.Body)
	if err != nil {
		return nil, fmt.Errorf("its armor: %w", err)
	}
	return raw, onlySignatures(raw)
}

func openSSHLoosely(text string) ([]byte, error) {
	_, body, _ := strings.Cut(text, "-----BEGIN SSH SIGNATURE-----")
	body, _, ok := strings.Cut(body, "-----END SSH SIGNATURE-----")
	if !ok {
		return nil, errors.New("its armor has no end")
	}
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
}

// onlySignatures walks over packets (RFC 9580, section 4.2): a compressed one could hide a
// signature.
func onlySignatures(raw []byte) error {
	for len(raw) > 0 {
		tag, header, size, ok := packetHeader(raw)
		if !ok || size > len(raw)-header {
			return errors.New("not a sequence of packets")
		}
		if tag != signatureTag {
			return fmt.Errorf("unexpected packet of type %d", tag)
		}
		raw = raw[header+size:]
	}
	return nil
}
