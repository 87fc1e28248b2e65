package run

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/models"
)

// A ledger is a file of fixed-size records of what the store acknowledged, in
// an order that keeps causes before effects. A record is handed to the
// operating system right after the acknowledgement, before the message can be
// anybody's target and before the worker's next operation: so killing the
// process loses none. (It is not synced: it does not survive the machine.)
type ledger struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first; the ledger takes nothing after it
	size atomic.Int64
}

// event says what a record tells of its message.
type event uint8

const (
	delivered event = 1 + iota
	// unsure: a delivery whose outcome is unknown; its handle is zero.
	unsure
	// taking: about to be deleted, moved or restored. Until the next record of
	// the same message either state is right.
	taking
	kept     // known not to be deleted, moved or restored: as it was before taking
	deleted  // acknowledged
	restored // acknowledged
	left     // acknowledged move; the next record says where to
	arrived
	// labelled: about to be shown in a second folder, or to be no longer;
	// unlabelled: it is in its own folder only.
	labelled
	unlabelled
	// shown: a label or a move under way may show it in this folder, too.
	shown
	lastEvent = shown
)

// place is a folder of the population, by its numbers.
type place struct {
	account uint32
	folder  uint16
}

// record is one entry of a ledger.
type record struct {
	event  event
	place  place
	n      uint64 // of the operation that delivered or changed it
	handle models.Handle
	digest uint64 // of what the model must give back; deliveries only
	// ahead is how many records were in the ledger when the call began: they
	// tell of what was acknowledged before. Deliveries and arrivals only.
	ahead uint32
}

// recordSize is event 1, zero 1, folder 2, account 4, n 8, handle 32, digest 8,
// ahead 4, CRC-32C 4, all little endian.
const recordSize = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *record) append(b []byte) []byte {
	at := len(b)
	b = append(b, byte(r.event), 0)
	b = binary.LittleEndian.AppendUint16(b, r.place.folder)
	b = binary.LittleEndian.AppendUint32(b, r.place.account)
	b = binary.LittleEndian.AppendUint64(b, r.n)
	b = append(b, r.handle[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.digest)
	b = binary.LittleEndian.AppendUint32(b, r.ahead)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// parse reads a record; false if it is not whole.
func (r *record) parse(b []byte) bool {
	le := binary.LittleEndian
	if le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return false
	}
	*r = record{
		event:  event(b[0]),
		place:  place{account: le.Uint32(b[4:]), folder: le.Uint16(b[2:])},
		n:      le.Uint64(b[8:]),
		handle: models.Handle(b[16:48]),
		digest: le.Uint64(b[48:]),
		ahead:  le.Uint32(b[56:]),
	}
	return r.event > 0 && r.event <= lastEvent
}

// openLedger opens a ledger for appending and creates it if it is absent. What
// a killed process left of a last record is cut off.
func openLedger(name string) (*ledger, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if torn := size % recordSize; err == nil && torn > 0 {
		if err = f.Truncate(size - torn); err == nil {
			_, err = f.Seek(size-torn, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", name, err), f.Close())
	}
	l := &ledger{file: f}
	l.size.Store(size - size%recordSize)
	return l, nil
}

// records is how many records the ledger has; none, if there is no ledger. Of
// more than fit, it says fewer: of what came before a call, that is true too.
func (l *ledger) records() uint32 {
	if l == nil {
		return 0
	}
	return uint32(min(l.size.Load()/recordSize, math.MaxUint32))
}

// write appends encoded records in one piece.
func (l *ledger) write(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		n, err := l.file.Write(b)
		if l.size.Add(int64(n)); err != nil {
			l.err = fmt.Errorf("write ledger: %w", err)
		}
	}
	return l.err
}

func (l *ledger) close() error { return l.file.Close() }

// readLedger yields the records of a ledger in order. A last record that is
// not whole is what a killed process was writing: torn says so. One that is not
// whole before the last means that the file itself is damaged.
func readLedger(name string, yield func(*record)) (torn bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return false, fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var b [recordSize]byte
	var r record
	for at := int64(0); ; at++ {
		switch _, err := io.ReadFull(in, b[:]); {
		case err == io.EOF:
			return false, nil
		case err == io.ErrUnexpectedEOF:
			return true, nil
		case err != nil:
			return false, fmt.Errorf("read ledger: %w", err)
		}
		if r.parse(b[:]) {
			yield(&r)
		} else if _, err := in.Peek(1); err == io.EOF {
			return true, nil
		} else {
			return false, fmt.Errorf("ledger %s is damaged: record %d has a wrong checksum", name, at+1)
		}
	}
}
