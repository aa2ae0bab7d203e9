package invite

import "encoding/hex"

// Offering returns a part with any document, sealed as an offer by somebody who has the code.
func (c Code) Offering(p Part) *Part { return resealed(c.offerKey(), p) }

// Answering is Offering for answers.
func (c Code) Answering(p Part) *Part { return resealed(c.answerKey(), p) }

func resealed(key []byte, p Part) *Part {
	p.MAC = hex.EncodeToString(mac(key, []byte(p.Document)))
	return &p
}
