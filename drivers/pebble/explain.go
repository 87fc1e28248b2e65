package pebble

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/golang/snappy"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// Explain implements drivers.Explainer. It returns the keys for example arguments.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		return drivers.ExplainParts("one atomic batch of:", p, st.parts)
	}
	args := drivers.Example(p)
	var element *drivers.Value
	if st.Layout.In >= 0 {
		element = &args[st.Layout.In].Elems()[0]
	}
	var b plan.Range
	if err := b.Set(&st.Plan, st.path, st.fixed(nil, args, element), args, p.Reverse); err != nil {
		return nil, st.Named(err)
	}
	line := st.verb() + fmt.Sprintf(" key %x", b.Lower)
	if p.Kind == schemas.Slice || p.Kind == schemas.Scan || p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
		line = st.verb() + fmt.Sprintf(" keys %x ≤ key < %x", b.Lower, b.Upper)
	}
	if p.Reverse {
		line += ", from the last"
	}
	if element != nil {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	if st.changesIndex {
		lines = append(lines, "  the row is read first, and its entries in indexes over plain columns change with it")
	}
	if len(st.filters) > 0 {
		lines = append(lines, "  rows are compared after reading")
	}
	return lines, nil
}

func (st *statement) verb() string {
	switch p := st.Pattern(); {
	case p.Kind == schemas.Get:
		return "seek"
	case p.Kind.Reads():
		return "iterate"
	case p.Present && p.Kind == schemas.Delete:
		return "lock the row, and if it is there delete"
	case p.Kind == schemas.Delete:
		return "delete"
	case st.readsRow || st.changesIndex:
		return "lock the row, read and set"
	case st.putsWholeRow:
		return "set"
	}
	return "merge into"
}

var (
	_ drivers.Tracer        = (*Store)(nil)
	_ drivers.TracedSession = (*tracedSession)(nil)
)

// work counts what the calls of a traced session did. The numbers come from the statistics of
// its iterators, requests and rows from the session's meter. A Get of Pebble has no statistics.
type work struct {
	all    []drivers.Work // the first is that of calls before a Begin
	looked int            // number of keys at which rowIter stopped
}

// tracedSession is a session that counts what its calls did.
type tracedSession struct {
	*session
	noted drivers.Cost // the part of Cost that is in a piece of work
}

// Traced implements drivers.Tracer.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.Session()
	if err != nil {
		return nil, err
	}
	t := &tracedSession{session: se.(*session)}
	t.work = &work{all: make([]drivers.Work, 1)}
	return t, nil
}

// note adds what calls have cost to the current piece of work.
func (t *tracedSession) note() {
	w := &t.work.all[len(t.work.all)-1]
	w.Requests += t.Cost.Requests - t.noted.Requests
	w.Rows += t.Cost.RowsScanned - t.noted.RowsScanned
	t.noted = t.Cost
}

// Take implements drivers.Session.
func (t *tracedSession) Take() drivers.Cost {
	t.note()
	t.noted = drivers.Cost{}
	return t.session.Take()
}

// Begin implements drivers.TracedSession.
func (t *tracedSession) Begin() {
	t.note()
	next := drivers.Unreported
	next.Requests, next.Rows, next.Hidden, next.Blocks = 0, 0, 0, 0
	t.work.all = append(t.work.all, next)
}

// Work implements drivers.TracedSession.
func (t *tracedSession) Work(context.Context) ([]drivers.Work, error) {
	t.note()
	all := t.work.all[1:]
	t.work.all = make([]drivers.Work, 1)
	return all, nil
}

// add counts what an iterator read that stopped at so many keys.
func (w *work) add(stats pebble.IteratorStats, seen int) {
	c := &w.all[len(w.all)-1]
	c.Blocks += int64(stats.InternalStats.BlockBytes)
	// In a reverse read Pebble also passes the key before the one that it returns.
	c.Hidden += max(0, int64(stats.InternalStats.PointCount)-int64(seen))
}

// renderKeys writes the keys under which the rows of a schema are stored. Pebble has no
// statements that create tables: it is an ordered map of bytes, and the layout is the driver's.
func renderKeys(s *schemas.Schema, _ drivers.Options) (string, error) {
	own := stored(s)
	store, err := offline(own)
	if err != nil {
		return "", err
	}
	t := render.New("#")
	t.Head(s,
		fmt.Sprintf("Pebble has no tables and no statements that create them. These are the keys under which the embedded "+
			"engine keeps the schema %s if it is the first in its folder. A number of two bytes begins every key: its key space.",
			s.Name))
	for _, as := range own.Tables {
		if as.Header() {
			continue
		}
		t.Table(s.Table(as.Name))
		table, err := store.tables.Find(schemas.ScanOf(as))
		if err != nil {
			return "", err
		}
		table.render(t, as.Indexes)
		for _, x := range s.Table(as.Name).Indexes {
			if !keeps(x) {
				t.Comment(fmt.Sprintf("Index %s is left out: the engine keeps none over static columns, collections and counters.", x.Name))
			}
		}
	}
	return t.String(), nil
}

func (tb *table) render(t *render.Text, indexes []*schemas.Index) {
	line := func(what string, space uint16, cols []keyColumn, rest, value string) {
		var key []string
		for _, c := range cols {
			word := tb.column(c).Name + " " + c.kind.String()
			if c.desc {
				word += " desc"
			}
			key = append(key, word)
		}
		t.Statement(fmt.Sprintf("%5d  %-7s  %s%s → %s", space, what, strings.Join(key, ", "), rest, value))
	}
	family := func(what string, f family) {
		line(what, f.space, f.cols, "", f.names(false))
		if f.collections > 0 {
			line("cells", f.cells, f.cols, ", column, element", "an element of "+f.names(true))
		}
	}
	family("rows", tb.rows)
	if len(tb.statics.columns) > 0 {
		family("statics", tb.statics)
	}
	for _, x := range indexes {
		if p := tb.index(x.Name); p != nil {
			line("index", p.space, p.cols, "", "nothing ("+x.Name+")")
		}
	}
}

// names returns the names of the columns that are collections, or of the others.
func (f family) names(collections bool) string {
	var names []string
	for _, c := range f.columns {
		if c.Type.Collection() == collections {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// forecastEngine sizes rows as Pebble writes them in its newest format. A block has columns of
// keys and of values, and each 16 keys store their common prefix once. Values of minSeparate
// bytes or more are in blob files.
type forecastEngine struct{}

// bundle is how many keys store their common prefix once (bundle size of the default key schema).
const bundle = 16

// entryBytes is the overhead of a key-value pair in bytes: the offsets of key and value, and
// the pair's share of trailer, bitmaps and block index.
const entryBytes = 5.5

// Row implements forecast.Engine.
func (forecastEngine) Row(r *forecast.Row) forecast.Size {
	s := forecast.Size{Rows: 1}
	t, keyed := r.Table, r.Table.Key()
	if r.Static {
		keyed = t.Partition
	}
	key, shared, begin := float64(spaceLen), 0.0, 0.0
	for i, c := range keyed {
		n := keyBytes(c.Type.Kind, r.Key[i])
		key += n
		switch {
		case i >= len(t.Partition):
			switch c.Type.Kind { // the high bytes of times and numbers are equal in neighboring keys
			case schemas.TimeUUID, schemas.Timestamp, schemas.Int:
				shared += 2
			case schemas.Bigint:
				shared += 6
			}
		case c.Type.Kind == schemas.Text:
			begin += begins * n
			shared += n
		default:
			shared += n
		}
	}
	// A bundle within one partition stores once what its keys share. A bundle that spans
	// partitions of one user stores once the beginning of the partition key. Any other bundle
	// shares only the number of the key space.
	inside, near := within(r.Together), within(r.Around)
	if r.Static {
		inside, near = 0, 0
	}
	common := spaceLen + inside*shared + (near-inside)*begin
	rest := key - common*(1-1.0/bundle)

	value := 1.0
	columns := make(map[*schemas.Column]float64, len(r.Cells))
	for i, c := range r.Cells {
		columns[c.Column] = c.Bytes
		if c.Column.Type.Collection() {
			each := c.Bytes / max(1, c.Count)
			s.Bytes += c.Count * (pair(3, each) + key/max(1, min(bundle, c.Count)))
			s.Cells += c.Count
			continue
		}
		n := c.Bytes
		switch c.Column.Type.Kind {
		case schemas.Int, schemas.Bigint, schemas.Counter:
			n = 3 // a varint; a timestamp is one of 8 bytes
		}
		value += uvarint(float64(i)*4) + uvarint(n) + n
		s.Cells++
	}
	s.Bytes += pair(rest, value)
	for _, x := range t.Indexes {
		if n := rest; keeps(x) && !r.Static {
			for _, c := range x.Columns {
				if c.Column.Role == schemas.Plain {
					n += keyBytes(c.Column.Type.Kind, columns[c.Column])
				}
			}
			s.Bytes += pair(n, 0)
		}
	}
	return s
}

// begins is the share of a text partition key that is equal in all partitions of a user: the
// address without the label.
const begins = 0.8

// within returns the share of bundles that lie within a run of so many rows.
func within(rows float64) float64 { return max(0, 1-(bundle-1)/max(1, rows)) }

// pair sizes a key and a value in tables and blob files.
func pair(key, value float64) float64 {
	n := entryBytes + key + value
	if value >= minSeparate {
		n += blobHandle
	}
	return n
}

// blobHandle is the size in bytes of a reference to a value in a blob file, with the value's
// overhead there.
const blobHandle = 6

func keyBytes(k schemas.Kind, n float64) float64 {
	if k == schemas.Text || k == schemas.Blob {
		return n + 2 // a terminator
	}
	return n
}

func uvarint(n float64) float64 {
	if n < 1 {
		return 1
	}
	return math.Floor(math.Log2(n)/7) + 1
}

// Partition implements forecast.Engine: there is nothing but pairs.
func (forecastEngine) Partition(*forecast.Partition) float64 { return 0 }

// Table implements forecast.Engine: tables share files.
func (forecastEngine) Table(*schemas.Table, forecast.Size) float64 { return 0 }

// Unit implements forecast.Engine: a partition.
func (forecastEngine) Unit(t *schemas.Table) int { return len(t.Partition) }

// Limits implements forecast.Engine: Pebble has none for partitions, which it does
// not know.
func (forecastEngine) Limits() []forecast.Limit { return nil }

// Space implements forecast.Engine.
func (forecastEngine) Space() forecast.Space {
	return forecast.Space{
		Replicas: 1, Compaction: 0.25,
		Why: "levels above the last, and blob files with values that are no longer used",
	}
}

// Compression implements forecast.Engine: the default, in blocks of 4 KiB.
func (forecastEngine) Compression() *forecast.Compression {
	return &forecast.Compression{Name: "Snappy", Block: 4 << 10, Compressed: func(b []byte) int {
		return min(len(snappy.Encode(nil, b)), len(b))
	}}
}
