package invite

import "encoding/hex"

// Offering returns a part as somebody with the code can make it of any document.
func (c Code) Offering(p Part) *Part { return resealed(c.offerKey(), p) }

// Answering is like Offering for answers.
func (c Code) Answering(p Part) *Part { return resealed(c.answerKey(), p) }

func resealed(key []byte, p Part) *Part {
	p.MAC = hex.EncodeToString(mac(key, []byte(p.Document)))
	return &p
}
