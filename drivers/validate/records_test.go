package validate

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

// TestDivideSpreads: a file of records is divided into files that are all much
// smaller, at every level, and no record is lost or changed.
func TestDivideSpreads(t *testing.T) {
	dir := t.TempDir()
	var written atomic.Int64
	first := newShards(dir, 0, &written)
	const n = 20000
	for i := range n {
		sum, _ := digestOf(&rule{number: i % 3}, &tuple{texts: [][]byte{fmt.Append(nil, i)}}, nil)
		r := record{digest: sum, rule: i % 3, at: i%2 == 0, bad: i%5 == 0, rows: int64(i), number: int64(-i), where: fmt.Append(nil, "row ", i)}
		sum[0] = 7 // all of them in one file
		if err := first.write(&sum, appendRecord(nil, &r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	name := first.name(7)
	for level := 1; level < mostLevels; level++ {
		next := newShards(dir, level, &written)
		if err := next.divide(name); err != nil {
			t.Fatal(err)
		}
		if err := next.close(); err != nil {
			t.Fatal(err)
		}
		seen, largest := 0, int64(0)
		for i := range shardsOf {
			b, err := os.ReadFile(next.name(i))
			if os.IsNotExist(err) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			if int64(len(b)) > largest {
				name, largest = next.name(i), int64(len(b))
			}
			for len(b) > 0 {
				var r record
				if r, b, err = nextRecord(b); err != nil {
					t.Fatal(err)
				}
				i := int(r.rows)
				if r.rule != i%3 || r.at != (i%2 == 0) || r.bad != (i%5 == 0) || r.number != int64(-i) ||
					!bytes.Equal(r.where, fmt.Append(nil, "row ", i)) {
					t.Fatalf("record %d was changed: %+v", i, r)
				}
				seen++
			}
		}
		all, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if level == 1 && seen != n || seen > 100 && all.Size()*int64(shardsOf) > 3*int64(seen)*50 {
			t.Errorf("level %d: %d records, the largest of %d files has %d bytes", level, seen, shardsOf, all.Size())
		}
	}
}
