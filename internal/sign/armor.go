package sign

import (
	"bytes"
	"encoding/base64"
	"errors"
)

// maxSignature bounds an armored signature, in bytes. One by an RSA key of
// 16,384 bits needs about a quarter of it.
const maxSignature = 16 << 10

// armor is one of the three text wrappings that this package writes, each the
// way its stock tool does.
type armor struct {
	kind  string // the words after BEGIN and END
	width int    // characters of base64 in a line
	pgp   bool   // an empty line before the base64, and a CRC line after it
}

func pgpSignatureArmor() armor { return armor{kind: "PGP SIGNATURE", width: 64, pgp: true} }
func pgpPublicArmor() armor    { return armor{kind: "PGP PUBLIC KEY BLOCK", width: 64, pgp: true} }
func pgpPrivateArmor() armor   { return armor{kind: "PGP PRIVATE KEY BLOCK", width: 64, pgp: true} }
func sshSignatureArmor() armor { return armor{kind: "SSH SIGNATURE", width: 70} }

func (a armor) begin() string { return "-----BEGIN " + a.kind + "-----\n" }
func (a armor) end() string   { return "-----END " + a.kind + "-----\n" }

// encode wraps raw, without headers.
func (a armor) encode(raw []byte) []byte {
	var out bytes.Buffer
	out.WriteString(a.begin())
	if a.pgp {
		out.WriteByte('\n')
	}
	text := base64.StdEncoding.EncodeToString(raw)
	for len(text) > 0 {
		n := min(a.width, len(text))
		out.WriteString(text[:n])
		out.WriteByte('\n')
		text = text[n:]
	}
	if a.pgp {
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
		return nil, errors.New("does not begin with " + a.kind + " armor")
	}
	if body, ok = bytes.CutSuffix(body, []byte(a.end())); !ok {
		return nil, errors.New("does not end with " + a.kind + " armor")
	}
	if a.pgp {
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
