package cassandra

import (
	"crypto/rand"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

const largeBody = `
tables:
  large: {partition: [p int], columns: {v: blob}}
patterns:
  put: {put: large}
`

// TestSettleFlushes: after Settle the rows are in files, whose size Observe reports, and no table
// keeps the option that made nodes write them.
func TestSettleFlushes(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "large", largeBody))
	const size, rows = 256 << 10, 16
	body := make([]byte, size)
	for i := range int32(rows) {
		if _, err := rand.Read(body); err != nil {
			t.Fatal(err)
		}
		r.write("put", drivers.Int(i), drivers.Blob(body))
	}
	before := st.Observe().DiskBytes
	if err := st.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Cassandra reports whole MiB.
	if after := st.Observe().DiskBytes; before != 0 || after < size*rows || after > 2*size*rows {
		t.Errorf("%d bytes on disk before Settle and %d after it, of rows with %d", before, after, size*rows)
	}
	var period int
	err := st.session.Query("SELECT memtable_flush_period_in_ms FROM system_schema.tables WHERE keyspace_name = ? AND "+
		"table_name = 'large'", "mailbench_"+st.Namespace+"_large").Scan(&period)
	if err != nil || period != 0 {
		t.Errorf("flush period %d ms, %v after Settle", period, err)
	}
}
