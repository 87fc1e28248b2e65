package pebble

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// stripes is how many locks all rows share. There are many more than workers, so that
// two workers rarely want the same one. A delete of a range takes all of them.
const stripes = 256

// stripe is one lock on a cache line of its own.
type stripe struct {
	sync.Mutex
	_ [56]byte
}

// RunBatch implements plan.Runner. The batch is all or nothing, whatever atomicity the
// pattern declares.
func (s *session) RunBatch(_ context.Context, st *statement, parts []drivers.Call) error {
	defer s.leave()
	if err := s.begin(); err != nil {
		return err
	}
	size := 0
	for i := range parts {
		size += bytesOf(parts[i].Args)
		if err := s.noteLock(st.parts[parts[i].Part], parts[i].Args); err != nil {
			return err
		}
	}
	// A part that replaces a row's index entries must see what an earlier part has made of the row. All
	// writes to such a table take locks, so a batch with two parts of one row takes a lock twice.
	locks := len(s.held)
	slices.Sort(s.held)
	s.held = slices.Compact(s.held)
	if st.indexed || st.tracks && len(s.held) < locks {
		indexed := s.db.NewIndexedBatch()
		plain := s.batch
		s.batch, s.over = indexed, indexed
		defer func() {
			indexed.Close()
			s.batch, s.over = plain, s.db
		}()
	}
	return s.locked(size, func() error {
		for i := range parts {
			if err := s.there(st.parts[parts[i].Part], parts[i].Args); err != nil {
				return fmt.Errorf("part %d, %s: %w", i, st.parts[parts[i].Part].Pattern().Name, err)
			}
		}
		for i := range parts {
			if err := s.apply(st.parts[parts[i].Part], parts[i].Args); err != nil {
				return fmt.Errorf("part %d, %s: %w", i, st.parts[parts[i].Part].Pattern().Name, err)
			}
		}
		return nil
	})
}

// there returns drivers.ErrNotApplied for a part that needs its row, if there is none.
func (s *session) there(st *statement, args []drivers.Value) (err error) {
	if !st.Pattern().Present {
		return nil
	}
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return err
	}
	_, closer, err := s.db.Get(s.key)
	if err == pebble.ErrNotFound {
		return drivers.ErrNotApplied
	}
	if err != nil {
		return err
	}
	s.Cost.RowsExamined++
	return closer.Close()
}

// begin begins a write, or a batch.
func (s *session) begin() error {
	if err := s.start(); err != nil {
		return err
	}
	s.Cost.Calls++
	s.batch.Reset()
	s.over, s.held = s.db, s.held[:0]
	return nil
}

// locked has do put changes of size bytes into the batch under the locks in s.held, and commits them if it can.
func (s *session) locked(size int, do func() error) error {
	if err := s.makeRoom(size); err != nil {
		return err
	}
	s.lock()
	if err := do(); err != nil {
		s.unlock()
		s.discard()
		return corrupt(err)
	}
	return s.commit()
}

// makeRoom gives the batch a buffer for size bytes of values, if they are many. Pebble doubles
// a buffer that is too small: for 17 MB it would take 32 MB, and keep them until the flush.
func (s *session) makeRoom(size int) error {
	if size > keepBatch {
		s.roomy = true
		return s.batch.SetRepr(make([]byte, batchrepr.HeaderLen, size+size/64+4<<10))
	}
	return nil
}

func bytesOf(args []drivers.Value) (n int) {
	for i := range args {
		n += args[i].Size()
	}
	return n
}

// keepBatch is the size in bytes of the largest batch whose memory a session keeps.
// Otherwise each of many sessions could keep a message of 25 MB.
const keepBatch = 256 << 10

func (s *session) discard() { s.batch.Reset() }

// noteLock adds to s.held the number of the lock of the row that is written, for lock to take, if writes to its table
// take locks. A delete of many rows takes all of them.
func (s *session) noteLock(st *statement, args []drivers.Value) (err error) {
	if !st.table.guarded.Load() {
		return nil
	}
	if st.Pattern().Kind == schemas.Delete && len(st.Pattern().By) < len(st.fam.path.cols) {
		s.held = s.held[:0]
		for i := range stripes {
			s.held = append(s.held, uint8(i))
		}
		return nil
	}
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return err
	}
	s.held = append(s.held, uint8(maphash.Bytes(s.store.seed, s.key)%stripes))
	return nil
}

// lock takes the locks in s.held, which are sorted. All sessions take locks in the same order, so none can wait
// for each other.
func (s *session) lock() {
	for _, i := range s.held {
		s.store.stripes[i].Lock()
	}
}

func (s *session) unlock() {
	for _, i := range s.held {
		s.store.stripes[i].Unlock()
	}
	s.held = s.held[:0]
}

// commit applies the batch, releases the locks, and waits until the batch is as durable
// as the store promises. Other sessions may read the batch while commit waits, but their
// writes come after it in the log.
func (s *session) commit() error {
	var err error
	if s.bulk || s.store.durability == drivers.Memory {
		err = s.db.Apply(s.batch, pebble.NoSync)
		s.unlock()
	} else {
		err = s.db.ApplyNoSyncWait(s.batch, pebble.Sync)
		s.unlock()
		if err == nil {
			err = s.batch.SyncWait()
		}
	}
	if fault := s.store.fault(); fault != nil {
		err = fault
	}
	if err != nil {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	}
	return nil
}
