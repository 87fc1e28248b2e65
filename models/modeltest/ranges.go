package modeltest

import (
	"bytes"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

func testRangeReads(t *testing.T, s *suite) {
	const chunk = 1000
	f := s.start(t, Sized(chunk, 0))
	diff := f.differential()
	in := diff.user(diff.at("ann"), "INBOX").folders[0]
	const size = 40*chunk + 500
	raw := noise(size, 1)
	m := diff.deliver(unparsable(start, raw), in)[0]

	session, err := f.store.Session()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	meter := drivers.NewMeter(session)
	metered := f.bound.Mailbox(meter).(models.RangeReader)
	for _, r := range [][2]int64{
		{0, 0},
		{0, 1},
		{chunk - 1, 1},
		{chunk - 1, 2},
		{chunk, 1},
		{chunk, chunk},
		{1, chunk},
		{chunk + 500, 3 * chunk},
		{size - 1, 1},
		{size - 1, 100},
		{size, 5},
		{size + 5*chunk, 5},
		{0, size},
		{0, 10 * size},
		{7, size},
	} {
		off, n := r[0], r[1]
		want := raw[min(off, size):min(off+n, size)]
		var b bytes.Buffer
		meter.Take()
		got, err := metered.RawRange(diff.ctx, in.got, m.got, off, n, &b)
		if err != nil {
			t.Errorf("%d bytes from %d on: %v", n, off, err)
			continue
		}
		if got != int64(len(want)) || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%d bytes from %d on: %d bytes, says %d, want %d (equal: %v)", n, off, b.Len(), got, len(want),
				bytes.Equal(b.Bytes(), want))
		}
		// Allow for a partial chunk at either end, and for the metadata.
		if read, most := meter.Take().BytesRead, n+3*chunk; n < size/2 && read > most {
			t.Errorf("%d bytes from %d on: read %d bytes from the store, at most %d are needed", n, off, read, most)
		}
	}
	big := diff.deliver(unparsable(start, noise(400*chunk, 2)), in)[0] // more chunks than are written or deleted at once
	diff.checkMessage(big)
}
