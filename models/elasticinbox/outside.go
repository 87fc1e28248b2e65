package elasticinbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
	"github.com/mailbench/mailbench/models/mail"
)

// outside is a store of blobs in which bodies are that are not in the database.
type outside struct {
	blobs.Store
	name blobs.Name
}

// inDatabase is the parameter blob_store for bodies in the database. Those after it are the
// stores of package blobs.
const inDatabase = 1

// openStores opens the stores that may have bodies. Larger messages are written to number n, if
// that is not the database.
func (b *bound) openStores(p *drivers.Prepared, dir string, n int) error {
	if p.Capabilities().Discards { // nothing is read again
		return nil
	}
	for i, name := range blobs.Names() {
		chosen := n == inDatabase+1+i
		if dir == "" && chosen {
			return fmt.Errorf("blob_store %s: it is a folder of this machine, and there is none; a run in shards, on several "+
				"machines, has its bodies in the database", name)
		}
		if dir == "" {
			continue
		}
		s, err := blobs.Open(name, dir, p.Capabilities().Durability)
		if err != nil {
			return err
		}
		b.stores = append(b.stores, &outside{s, name})
		if chosen {
			b.chosen = b.stores[i]
		}
	}
	return nil
}

// Close closes the stores of bodies.
func (b *bound) Close() (err error) {
	for _, s := range b.stores {
		err = errors.Join(err, s.Close())
	}
	return err
}

// storeOf is where the body of a message of that size goes; nil means the database.
func (b *bound) storeOf(size int64) *outside {
	if size <= int64(b.threshold) {
		return nil
	}
	return b.chosen
}

// outsideLocation says where a body is outside of the database, as the document's sample does:
// blob://NAME/container/ADDRESS:UUID. The size behind it is ours, as that of blocks is.
func (m *mailbox) outsideLocation(s *outside, address string, id [16]byte, size int64) drivers.Value {
	at := len(m.text)
	m.text = append(append(m.text, "blob://"...), s.name...)
	m.text = append(append(m.text, "/container/"...), address...)
	m.text = appendUUID(append(m.text, ':'), id)
	m.text = strconv.AppendInt(append(m.text, "?s="...), size, 10)
	return drivers.Blob(m.taken(at))
}

// parseOutside parses the location of a body that is not in the database.
func (b *bound) parseOutside(location []byte) (*outside, int64, error) {
	rest, ok := bytes.CutPrefix(location, []byte("blob://"))
	at := bytes.LastIndex(rest, []byte("?s="))
	name, _, ok2 := bytes.Cut(rest, []byte("/container/"))
	if !ok || !ok2 || at < 0 {
		return nil, 0, fmt.Errorf("%q is neither blob://db/UUID?b=BLOCKS&s=SIZE nor blob://STORE/container/ADDRESS:UUID?s=SIZE",
			location)
	}
	size, err := parseNumber(rest[at+len("?s="):])
	if err != nil {
		return nil, 0, fmt.Errorf("size of %q: %w", location, err)
	}
	for _, s := range b.stores {
		if string(s.name) == string(name) {
			return s, size, nil
		}
	}
	return nil, size, fmt.Errorf("%q: the blob store %s is not here; it is in the data folder of the client that wrote (--data)",
		location, name)
}

// putOutside writes the raw message to a store and returns its checksum.
func (m *mailbox) putOutside(s *outside, id [16]byte, raw mail.Content) (sum uint32, err error) {
	w, err := s.Write(id)
	if err != nil {
		return 0, fmt.Errorf("begin a blob in %s: %w", s.name, err)
	}
	size := raw.Size()
	if memory, ok := raw.(mail.BytesContent); ok {
		sum = models.Checksum(0, memory)
		_, err = w.Write(memory)
	} else {
		sum, err = m.copyTo(w, raw)
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("write a blob in %s: %w", s.name, err), w.Abort())
	}
	if err := w.Commit(); err != nil {
		return 0, fmt.Errorf("write a blob in %s: %w", s.name, err)
	}
	m.Blob(0, size)
	return sum, nil
}

// copyTo writes content that is not in memory.
func (m *mailbox) copyTo(w io.Writer, raw mail.Content) (sum uint32, err error) {
	size := raw.Size()
	b := m.window(min(size, window*int64(m.blockSize)))
	for off := int64(0); off < size && err == nil; off += int64(len(b)) {
		b = b[:min(int64(len(b)), size-off)]
		if err = mail.ReadFull(raw, b, off); err == nil {
			sum = models.Checksum(sum, b)
			_, err = w.Write(b)
		}
	}
	return sum, err
}

// window returns a buffer of n bytes.
func (m *mailbox) window(n int64) []byte {
	if int64(len(m.buffer)) < n {
		m.buffer = make([]byte, n)
	}
	return m.buffer[:n]
}

// fetchOutside reads as much of a body from a store as a block in the database has.
func (m *mailbox) fetchOutside(n int64) error {
	each := int64(m.blockSize)
	b := m.window(min(each, m.readingSize-n*each))
	got, err := m.readingFrom.ReadAt(m.reading, b, n*each)
	m.Blob(int64(got), 0)
	switch {
	case errors.Is(err, blobs.ErrMissing):
		return nil // the reader says that it is missing
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read a blob in %s: %w", m.readingFrom.name, err)
	}
	return m.Reader.Chunk(b[:got])
}

// dropBody removes the body of a message whose metadata is gone.
func (m *mailbox) dropBody(ctx context.Context, id [16]byte, s *outside, blocks int) error {
	if s == nil {
		return m.dropBlocks(ctx, id, blocks)
	}
	m.Blob(0, 0)
	if err := s.Remove(id); err != nil {
		return fmt.Errorf("remove a blob in %s: %w", s.name, err)
	}
	return nil
}

// checkOutside reads a body in a store and returns its checksum. It is not whole if its length is
// another.
func (a *audit) checkOutside(r *record) (sum uint32, whole bool, err error) {
	a.outside[r.id] = r.outside
	b := a.window(int64(a.blockSize))
	for off := int64(0); ; {
		n, err := r.outside.ReadAt(r.id, b, off)
		if errors.Is(err, blobs.ErrMissing) {
			return 0, false, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, fmt.Errorf("read a blob in %s: %w", r.outside.name, err)
		}
		sum = models.Checksum(sum, b[:n])
		if off += int64(n); n == 0 || off > r.size {
			return sum, off == r.size, nil
		}
	}
}

// strayBlobs finds blobs without metadata, which an interrupted delivery or purge leaves, and
// writes that were broken off.
func (a *audit) strayBlobs() error {
	for _, s := range a.stores {
		off, err := s.Each(func(id [16]byte) error {
			if a.outside[id] != s {
				a.found.Unreferenced++
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("blob store %s: %w", s.name, err)
		}
		a.found.BrokenOff += off
	}
	return nil
}
