package ledger

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

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/models"
)

// Ledger is a file of fixed-size records of what a store acknowledged, in an
// order that keeps causes before effects. The operating system gets a record
// right after the acknowledgement, before any other operation can choose the
// message and before the worker's next operation. So killing the process loses
// no record. The file is not synced: it does not survive the machine.
type Ledger struct {
	mu   sync.Mutex
	file *os.File
	err  error // first error; nothing is written after it
	size atomic.Int64
}

// Event says what a record tells of its message.
type Event uint8

// The events.
const (
	// Delivered: the delivery was acknowledged.
	Delivered Event = 1 + iota
	// UnknownDelivery: the outcome of a delivery is unknown; the handle is zero.
	UnknownDelivery
	// Taking: the message is about to be deleted, moved or restored. Until the
	// next record of the same message either state is right.
	Taking
	// Kept: it is known not to be deleted, moved or restored: as before Taking.
	Kept
	// Deleted: the deletion was acknowledged.
	Deleted
	// Restored: the restoring was acknowledged.
	Restored
	// Left: a move was acknowledged; the next record says where to.
	Left
	// Arrived: the message has a new handle in the folder that it moved to.
	Arrived
	// Labelled: it is about to be shown in a second folder, or to be no longer.
	Labelled
	// Unlabelled: it is in its own folder only.
	Unlabelled
	// Shown: a label or a move under way may show it in this folder, too.
	Shown
	lastEvent = Shown
)

// Place is a folder of the population, by its numbers.
type Place struct {
	Account uint32
	Folder  uint16
}

// Record is one entry of a ledger.
type Record struct {
	Event  Event
	Held   models.Packed // what calls on the message hold; deliveries only
	Place  Place
	N      uint64 // number of the operation that delivered or changed the message
	Handle models.Handle
	Digest uint64 // digest of what the model must give back; deliveries only
	// Ahead is how many records were in the ledger when the call began: those were
	// acknowledged before it. Deliveries and arrivals only.
	Ahead uint32
}

// recordSize is event 1, held 1, folder 2, account 4, n 8, handle 32, digest 8,
// ahead 4, CRC-32C 4, all little endian.
const recordSize = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the record's encoding to b.
func (r *Record) Append(b []byte) []byte {
	at := len(b)
	b = append(b, byte(r.Event), byte(r.Held))
	b = binary.LittleEndian.AppendUint16(b, r.Place.Folder)
	b = binary.LittleEndian.AppendUint32(b, r.Place.Account)
	b = binary.LittleEndian.AppendUint64(b, r.N)
	b = append(b, r.Handle[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.Digest)
	b = binary.LittleEndian.AppendUint32(b, r.Ahead)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// whole reports whether the checksum of a record is right.
func whole(b []byte) bool {
	return binary.LittleEndian.Uint32(b[60:]) == crc32.Checksum(b[:60], castagnoli)
}

// parse decodes a record whose checksum is right. It returns false if the event is not known.
func (r *Record) parse(b []byte) bool {
	le := binary.LittleEndian
	*r = Record{
		Event:  Event(b[0]),
		Held:   models.Packed(b[1]),
		Place:  Place{Account: le.Uint32(b[4:]), Folder: le.Uint16(b[2:])},
		N:      le.Uint64(b[8:]),
		Handle: models.Handle(b[16:48]),
		Digest: le.Uint64(b[48:]),
		Ahead:  le.Uint32(b[56:]),
	}
	return r.Event > 0 && r.Event <= lastEvent
}

// Open opens a ledger for appending and creates it if it is absent. A last record that is not
// whole is what a killed process was writing; it is cut off. Nothing is appended to a ledger
// whose end is damaged.
func Open(name string) (*Ledger, error) {
	f, err := private.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	end, err := cutTorn(f)
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", name, err), f.Close())
	}
	l := &Ledger{file: f}
	l.size.Store(end)
	return l, nil
}

// cutTorn cuts off a last record that is not whole, whatever its length, and returns the new
// length of the ledger in bytes.
func cutTorn(f *os.File) (end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var b [recordSize]byte
	last := func() (bool, error) { // whether the record that ends at end is whole
		_, err := f.ReadAt(b[:], end-recordSize)
		return whole(b[:]), err
	}
	end = info.Size() - info.Size()%recordSize
	if end == info.Size() && end > 0 {
		ok, err := last()
		if err != nil {
			return 0, err
		}
		if !ok {
			end -= recordSize
		}
	}
	if end > 0 {
		if ok, err := last(); err != nil || !ok {
			return 0, errors.Join(err, damaged(end/recordSize))
		}
	}
	if end < info.Size() {
		err = f.Truncate(end)
	}
	return end, err
}

// damaged is the error for a record that is not whole and not the last.
func damaged(record int64) error {
	return fmt.Errorf("it is damaged: record %d has a wrong checksum", record)
}

// Records returns how many records the ledger has, at most the largest uint32; 0 if l is
// nil. With more records, an audit knows of fewer that came before a call, which is no fault.
func (l *Ledger) Records() uint32 {
	if l == nil {
		return 0
	}
	return uint32(min(l.size.Load()/recordSize, math.MaxUint32))
}

// Write appends encoded records in one piece.
func (l *Ledger) Write(b []byte) error {
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

// Whole reports whether the ledger has taken everything that was written to it.
func (l *Ledger) Whole() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

// read yields the records of a ledger in order. torn reports that the last record is not
// whole: a killed process was writing it. If an earlier one is not whole, the file is
// damaged, and read returns an error.
func read(name string, yield func(*Record)) (torn bool, err error) {
	f, err := private.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return false, fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var b [recordSize]byte
	var r Record
	for at := int64(0); ; at++ {
		switch _, err := io.ReadFull(in, b[:]); {
		case err == io.EOF:
			return false, nil
		case err == io.ErrUnexpectedEOF:
			return true, nil
		case err != nil:
			return false, fmt.Errorf("read ledger: %w", err)
		}
		if !whole(b[:]) {
			if _, err := in.Peek(1); err == io.EOF {
				return true, nil
			}
			return false, fmt.Errorf("read ledger %s: %w", name, damaged(at+1))
		}
		if !r.parse(b[:]) {
			return false, fmt.Errorf("read ledger %s: record %d is of a kind that this mailbench does not know (%d); use the "+
				"version that wrote it",
				name, at+1, b[0])
		}
		yield(&r)
	}
}
