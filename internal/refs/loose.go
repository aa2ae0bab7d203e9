package refs

import (
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
)

// block is the size up to which compression saves no disk: the file takes one
// block of the filesystem either way.
const block = 4096

// encodeLoose writes the zlib stream of a loose object. A small one is stored
// in it as it is (RFC 1950, and RFC 1951 section 3.2.4): to make the tables of
// a compressor would take longer than all the rest of writing it.
func encodeLoose(w io.Writer, o *Object) error {
	head := fmt.Appendf(nil, "%s %d\x00", o.Type, len(o.Body))
	if n := len(head) + len(o.Body); n <= block {
		b := make([]byte, 0, n+16)
		b = append(b, 0x78, 0x01) // deflate, window of 32 KiB; fastest
		b = append(b, 0x01)       // the last block, stored
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint16(b, ^uint16(n))
		content := len(b)
		b = append(append(b, head...), o.Body...)
		b = binary.BigEndian.AppendUint32(b, adler32.Checksum(b[content:]))
		_, err := w.Write(b)
		return err
	}
	z, err := zlib.NewWriterLevel(w, zlib.BestSpeed) // as git does
	if err != nil {
		return err
	}
	if _, err := z.Write(head); err != nil {
		return err
	}
	if _, err := z.Write(o.Body); err != nil {
		return err
	}
	return z.Close()
}
