package sign

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
)

// maxSignature bounds an armored signature, in bytes. One by an RSA key of
// 16,384 bits needs about a quarter of it.
const maxSignature = 16 << 10

// armor is one of the text wrappings that this package writes, each the way its stock tool
// does: the words after BEGIN and END.
type armor string

const (
	pgpSignatureArmor armor = "PGP SIGNATURE"
	pgpPublicArmor    armor = "PGP PUBLIC KEY BLOCK"
	pgpPrivateArmor   armor = "PGP PRIVATE KEY BLOCK"
	sshSignatureArmor armor = "SSH SIGNATURE"
)

func (a armor) begin() string { return "-----BEGIN " + string(a) + "-----\n" }
func (a armor) end() string   { return "-----END " + string(a) + "-----\n" }

// encode wraps raw, without headers.
func (a armor) encode(raw []byte) []byte {
	pgp, width := a != sshSignatureArmor, 64
	var out bytes.Buffer
	out.WriteString(a.begin())
	if pgp {
		out.WriteByte('\n')
	} else {
		width = 70
	}
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(raw)), width) {
		out.Write(line)
		out.WriteByte('\n')
	}
	if pgp {
		sum := crc24(raw)
		out.WriteByte('=')
		out.WriteString(base64.StdEncoding.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)}))
		out.WriteByte('\n')
	}
	out.WriteString(a.end())
	return out.Bytes()
}

// decode accepts exactly what encode writes: any header, other line length,
// wrong checksum, second block or text around the block makes a difference.
func (a armor) decode(text []byte) ([]byte, error) {
	body, ok := bytes.CutPrefix(text, []byte(a.begin()))
	if !ok {
		return nil, errors.New("does not begin with " + string(a) + " armor")
	}
	if body, ok = bytes.CutSuffix(body, []byte(a.end())); !ok {
		return nil, errors.New("does not end with " + string(a) + " armor")
	}
	if a != sshSignatureArmor {
		if i := bytes.LastIndexByte(body, '='); i > 0 && body[i-1] == '\n' {
			body = body[:i]
		}
	}
	raw, err := base64.StdEncoding.DecodeString(string(body)) // skips line ends
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(a.encode(raw), text) {
		return nil, errors.New("armor is not in canonical form")
	}
	return raw, nil
}

// crc24 is the checksum of RFC 9580, section 6.1.1.
func crc24(b []byte) uint32 {
	crc := uint32(0xb704ce)
	for _, c := range b {
		crc ^= uint32(c) << 16
		for range 8 {
			crc <<= 1
			if crc&0x1000000 != 0 {
				crc ^= 0x1864cfb
			}
		}
	}
	return crc & 0xffffff
}
