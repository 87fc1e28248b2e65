package models

import (
	"math/bits"

	"github.com/mailbench/mailbench/models/mail"
)

// Holder says how much memory its calls take. A caller with many mailboxes makes a few
// calls on large messages at a time.
type Holder interface {
	// Holds returns what the calls on a message will hold, from its sizes alone.
	Holds(m *mail.Message) Holding
}

// Holding is how many bytes of a message the calls on it hold at once: what the model reads
// or encodes, and the copy that an engine makes to write it or to answer. A model that
// puts a message into one row holds all of it, one that streams a few chunks.
type Holding struct {
	Deliver, Open, Attachment, Move int64
	// Row is what any other call holds that reads the message's row, a listing too: an
	// engine may keep a row in one piece.
	Row int64
}

// Reading is the most that a call holds on a message that is there already.
func (h *Holding) Reading() int64 { return max(h.Open, h.Attachment, h.Move, h.Row) }

// LargeMessage is how many bytes an operation holds without asking whether there is room.
const LargeMessage = 1 << 20

// Packed rounds what calls on a message hold up to powers of two of 1 MiB, in a byte for the
// ledger: the exponent for those that read the message, and that for those that read its row.
// It is 0 if both are at most LargeMessage.
type Packed uint8

// Pack packs what is held.
func Pack(h Holding) Packed {
	return exponent(max(h.Open, h.Attachment, h.Move))<<4 | exponent(h.Row)
}

// exponent is the least e, 15 at most, for which n is at most 1<<e MiB.
func exponent(n int64) Packed { return Packed(min(bits.Len64(uint64(max(0, n-1))>>20), 15)) }

// Holding is what was packed, rounded up.
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
