// Package ledger keeps what a store acknowledged and proves afterwards, also after
// a crash, that the store kept it.
//
// A Ledger is the file to which a run appends. ReadHistory folds it into what must
// be in the store. An Auditor reads the store through its model and compares.
package ledger

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Ledger is a file of fixed-size records of what a store acknowledged, in an
// order that keeps causes before effects. The operating system gets a record
// right after the acknowledgement, before any other operation can choose the
// message and before the worker's next operation. So killing the process loses
// no record. Only Sync makes records survive a loss of power.
type Ledger struct {
	mu   sync.Mutex
	file *os.File
	err  error  // first error; nothing is written after it
	last uint32 // checksum of the last record
	size atomic.Int64
}

// Unfit is the error of a ledger that does not have what a store acknowledged: it is gone, damaged or too short. It is
// drivers.ErrCorrupt, in words of its own.
type Unfit string

func (e Unfit) Error() string        { return string(e) }
func (e Unfit) Is(target error) bool { return target == drivers.ErrCorrupt }

// Event is the change that a record has of its message.
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
	// Labeled: it is about to be shown in a second folder, or to be no longer.
	Labeled
	// Unlabeled: it is in its own folder only.
	Unlabeled
	// Shown: a label or a move under way may show it in this folder, too.
	Shown
	lastEvent = Shown
)

// Place is a folder of the population, by its numbers.
type Place struct {
	Account uint32
	Folder  uint16
}

func (p Place) address() string { return plan.Address(int(p.Account)) }
func (p Place) folder() string  { return plan.FolderName(int(p.Folder)) }
func (p Place) String() string  { return "account " + p.address() + ", folder " + p.folder() }

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
// ahead 4, checksum 4, all little endian.
const recordSize = 64

// Append appends the record's encoding to b, with room for the checksum, which Write enters.
func (r *Record) Append(b []byte) []byte {
	b = append(b, byte(r.Event), byte(r.Held))
	b = binary.LittleEndian.AppendUint16(b, r.Place.Folder)
	b = binary.LittleEndian.AppendUint32(b, r.Place.Account)
	b = binary.LittleEndian.AppendUint64(b, r.N)
	b = append(b, r.Handle[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.Digest)
	b = binary.LittleEndian.AppendUint32(b, r.Ahead)
	return binary.LittleEndian.AppendUint32(b, 0)
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

// Create makes a ledger. The caller has looked that there is none with records.
func Create(name string) (*Ledger, error) {
	f, err := private.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	return &Ledger{file: f, last: firstLink}, nil
}

// Open opens a ledger for appending. It never makes one: one that is missing is Unfit. A last
// record that is not whole is what a killed process was writing; it is cut off. Nothing is
// appended to a ledger that is damaged.
func Open(name string) (*Ledger, error) {
	f, err := private.OpenFile(name, os.O_RDWR)
	if err != nil {
		return nil, opening(name, err)
	}
	l := &Ledger{file: f}
	records, last, torn, err := scan(f, func(*Record) {})
	end := records * recordSize
	if err == nil && torn {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", name, err), f.Close())
	}
	l.last = last
	l.size.Store(end)
	return l, nil
}

// opening is the error for a ledger that cannot be opened.
func opening(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Unfit("the ledger " + name + " is gone")
	}
	return fmt.Errorf("open ledger: %w", err)
}

// Records returns how many records the ledger has, at most the largest uint32; 0 if l is
// nil. With more records, an audit knows of fewer that came before a call, which is no fault.
func (l *Ledger) Records() uint32 {
	if l == nil {
		return 0
	}
	return uint32(min(l.size.Load()/recordSize, math.MaxUint32))
}

// Write enters the checksums of encoded records, and appends the records in one piece.
func (l *Ledger) Write(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.last = link(l.last, b)
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

// Sync makes what was written until now survive a loss of power.
func (l *Ledger) Sync() error {
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("sync ledger: %w", err)
	}
	return nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

// read yields the records of a ledger in order. torn reports that the last record is not
// whole: a killed process was writing it.
func read(name string, yield func(*Record)) (torn bool, err error) {
	f, err := private.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return false, opening(name, err)
	}
	defer f.Close()
	if _, _, torn, err = scan(f, yield); err != nil {
		return false, fmt.Errorf("read ledger %s: %w", name, err)
	}
	return torn, nil
}

// scan yields the records of a ledger in order, and returns how many are whole and the checksum of
// the last. If one that is not the last is not whole, the ledger is damaged, and scan returns
// an error.
func scan(ledger io.Reader, yield func(*Record)) (records int64, last uint32, torn bool, err error) {
	last = firstLink
	in := bufio.NewReaderSize(ledger, 1<<20)
	var b [recordSize]byte
	var r Record
	for {
		switch _, err := io.ReadFull(in, b[:]); {
		case err == io.EOF:
			return records, last, false, nil
		case err == io.ErrUnexpectedEOF:
			return records, last, true, nil
		case err != nil:
			return records, last, false, err
		}
		if sumOf(b[:]) != crc32.Update(last, castagnoli, b[:recordSize-4]) {
			if _, err := in.Peek(1); err == io.EOF {
				return records, last, true, nil
			}
			return records, last, false, Unfit(fmt.Sprintf("it is damaged: record %d has a wrong checksum", records+1))
		}
		records, last = records+1, sumOf(b[:])
		if !r.parse(b[:]) {
			return records, last, false, fmt.Errorf("record %d is of an unknown kind (%d); use the "+
				"version that wrote it", records, b[0])
		}
		yield(&r)
	}
}
