package null

import (
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// most is how many writes to a table become samples, and how many rows a page without a
// limit has.
const most = 25

// mostBytes bounds the samples of a table, in bytes. The first row is kept whatever its
// size.
const mostBytes = 1 << 20

// samples are the rows that the first writes to a table made.
type samples struct {
	key, columns []*schemas.Column
	writes       atomic.Int32
	mu           sync.Mutex // held by writers
	bytes        int        // size of the kept rows
	rows         atomic.Pointer[[]sample]
}

// sample is one row. Rows are never changed, only replaced.
type sample struct {
	vals []drivers.Value // values of the key, then of the columns
	// shared is how many of the leading key columns are those of the first sample.
	shared int
}

func (t *samples) all() []sample {
	if rows := t.rows.Load(); rows != nil {
		return *rows
	}
	return nil
}

// remember keeps the row of a write, if it is one of the first.
func (t *samples) remember(st *statement, args []drivers.Value) {
	if t.writes.Load() >= most || t.writes.Add(1) > most {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 0
	for i := range args {
		size += args[i].Size()
	}
	if t.bytes+size > mostBytes && t.bytes > 0 {
		return
	}
	t.bytes += size
	old := t.all()
	rows := append(make([]sample, 0, len(old)+1), old...)
	at := 0
	for at < len(rows) && shared(rows[at].vals, args[:len(t.key)]) < len(t.key) {
		at++
	}
	row := sample{vals: make([]drivers.Value, len(t.key)+len(t.columns))}
	if at < len(rows) {
		copy(row.vals, rows[at].vals)
	} else {
		rows = append(rows, row)
	}
	for i := range t.key {
		row.vals[i] = args[i].Clone()
	}
	for i, column := range st.written {
		if v := args[st.Layout.Columns+i]; !v.IsNull() {
			row.vals[column] = v.Clone()
		}
	}
	row.shared = len(t.key)
	if at > 0 {
		row.shared = shared(rows[0].vals, row.vals[:len(t.key)])
	}
	rows[at] = row
	t.rows.Store(&rows)
}

// shared returns how many leading values are the same.
func shared(a, key []drivers.Value) int {
	for i := range key {
		if !a[i].Equal(key[i]) {
			return i
		}
	}
	return len(key)
}
