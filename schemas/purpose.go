package schemas

import (
	"slices"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Purpose is what a key column is for beside its value.
type Purpose uint8

// The purposes of key columns.
const (
	// Bucket: a partition column whose next value begins a new partition: a day, or a
	// number that rises when a partition is full.
	Bucket Purpose = iota
	// Chunk: the number of a piece of one value.
	Chunk
	// Salt: a partition column with few values, which spreads neighbouring rows: a hash
	// modulo N. It ends no partition.
	Salt
)

var purposeNames = [...]string{"bucket", "chunk", "salt"}

// Purposes are all purposes.
var Purposes = []Purpose{Bucket, Chunk, Salt}

// String returns the purpose's key in the language.
func (p Purpose) String() string { return purposeNames[p] }

// purposes reads bucket, chunk and salt of a table. An empty list says that no column
// is for that.
func (r *tableReader) purposes(t *Table, f map[string]strict.Entry) {
	for _, p := range Purposes {
		e, ok := f[p.String()]
		if !ok {
			continue
		}
		where := p.String() + " of table " + t.Name
		if t.Purposes == nil {
			t.Purposes = make(map[Purpose][]*Column)
		}
		t.Purposes[p] = []*Column{}
		may := t.Partition
		if p == Chunk {
			may = t.Key()
		}
		for _, item := range r.List(e.Value, where) {
			name, ok := r.Text(item, "a column in "+where)
			if !ok {
				continue
			}
			switch c := t.Column(name); {
			case c == nil:
				r.Unknown(item, "column", name, "in "+where, columnNames(t))
			case !slices.Contains(may, c):
				r.Fail(item, "column %s cannot be %s; expected one of (%s)", name, where, names(may))
			default:
				t.Purposes[p] = append(t.Purposes[p], c)
			}
		}
	}
}
