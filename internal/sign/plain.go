package sign

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// checkOutside lets nothing stand in the area that the signature does not cover but
// the issuer's short id, once and right: gpg puts it there. Anybody can change that
// area, and with it the id of the commit.
func checkOutside(area, fingerprint []byte) error {
	if len(area) == 0 {
		return nil
	}
	want := append([]byte{9, subpacketIssuer}, fingerprint[len(fingerprint)-8:]...)
	if !bytes.Equal(area, want) {
		return errors.New("something other than the issuer's short id stands outside the signature")
	}
	return nil
}

// checkIntegers requires of the numbers of a signature that each says how many bits it
// has, with no zero in front: OpenPGP's readers look at the count of bytes alone.
func checkIntegers(b []byte) error {
	for len(b) > 0 {
		if len(b) < 2 {
			return errors.New("truncated")
		}
		n := int(binary.BigEndian.Uint16(b))
		size := (n + 7) / 8
		if n == 0 || len(b) < 2+size || 8*(size-1)+bits.Len8(b[2]) != n {
			return errors.New("a number is not in canonical form")
		}
		b = b[2+size:]
	}
	return nil
}
