package models

import (
	"math/bits"

	"github.com/mailbench/mailbench/models/mail"
)

// Holder says how much memory its calls take, so that a caller with many mailboxes can limit
// how many calls on large messages run at a time.
type Holder interface {
	// Holds returns what the calls on a message will hold, from its sizes alone.
	Holds(m *mail.Message) Holding
}

// Holding is how many bytes of memory the calls on a message hold at once: the bytes that the
// model reads or encodes, and the engine's copy of them. A model that puts a message into one
// row holds all of it. A model that streams holds a few chunks.
type Holding struct {
	Deliver, Open, Attachment, Move int64
	// Row is for any other call that reads the message's row, such as a listing: an engine
	// may keep a row in one piece.
	Row int64
}

// Reading is the most that a call holds on a message that is there already.
func (h *Holding) Reading() int64 { return max(h.Open, h.Attachment, h.Move, h.Row) }

// LargeMessage is how many bytes an operation holds without asking whether there is room.
const LargeMessage = 1 << 20

// Packed is a Holding in one byte, for the ledger. It rounds up to 1 MiB times a power of two.
// The high four bits are the exponent for calls that read the message, the low four bits for
// calls that read its row. It is 0 if both are at most LargeMessage.
type Packed uint8

// Pack packs h. A delivery does not count.
func Pack(h Holding) Packed {
	return exponent(max(h.Open, h.Attachment, h.Move))<<4 | exponent(h.Row)
}

// exponent is the least e, 15 at most, for which n is at most 1<<e MiB.
func exponent(n int64) Packed { return Packed(min(bits.Len64(uint64(max(0, n-1))>>20), 15)) }

// Holding returns the packed holding, rounded up.
func (p Packed) Holding() (h Holding) {
	if e := p >> 4; e > 0 {
		h.Open = LargeMessage << e
		h.Attachment, h.Move = h.Open, h.Open
	}
	if e := p & 15; e > 0 {
		h.Row = LargeMessage << e
	}
	return h
}
