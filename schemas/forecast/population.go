package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// Engine says how many bytes rows take in the files of an engine, flushed, compacted
// and without compression. Drivers have one for each schema.
type Engine struct {
	// Row returns what one row takes in the files of its table.
	Row func(r *Row) Size
	// Partition returns what a partition takes in addition to its rows: header, index entries,
	// filter. key has the bytes of each column of the partition key. nil: nothing.
	Partition func(t *schemas.Table, key []float64, rows Size) float64
	// Table returns what the files of a table take in addition to partitions and rows. nil: nothing.
	Table func(t *schemas.Table, total Size) float64
	// Unit returns how many columns of a table's primary key name what the engine
	// keeps together, for which its limits hold: those of a partition, or of an HBase
	// row. The forecast calls that a partition.
	Unit        func(t *schemas.Table) int
	Limits      []Limit      // what the engine warns of or refuses
	Space       Space        // what a cluster needs in addition to one copy of the files
	Compression *Compression // how the engine compresses files; nil: it does not
}

// Compression is a way to compress a file block by block.
type Compression struct {
	Name  string
	Block int // bytes
	// Compressed returns how many bytes are left of a block.
	Compressed func(block []byte) int
}

// Row is one row to be sized.
type Row struct {
	Table  *schemas.Table
	Static bool      // the static columns of a partition
	Key    []float64 // bytes of each column of the primary key (static: of the partition key)
	Cells  []Cell    // of the columns that have a value
	// Together is how many rows the partition of a row has, on average over all rows, so
	// that large partitions weigh more. Engines that leave out what a key shares with the
	// one before it save more in partitions of more rows.
	Together float64
	// Around is how many rows the row's user has, if the partition is that of a folder:
	// the keys of a user's partitions may begin alike. Otherwise it equals Together.
	Around float64
	// Span is the time in seconds in which the rows of a file were written. Engines
	// that store times as differences take less for shorter spans.
	Span float64
}

// Cell is a column's value, or the elements of a collection.
type Cell struct {
	Column *schemas.Column
	Count  float64 // number of elements; 1 for a column that is no collection
	Bytes  float64 // bytes of the value, or of all elements with their keys
}

// Size is the size of rows. Bytes are those in files.
type Size struct {
	Bytes float64 `json:"bytes"`
	Rows  float64 `json:"rows"`
	Cells float64 `json:"cells"`
}

// add adds n times o.
func (s *Size) add(n float64, o Size) {
	s.Bytes += n * o.Bytes
	s.Rows += n * o.Rows
	s.Cells += n * o.Cells
}

// Limit is a bound of an engine.
type Limit struct {
	Name   string // such as "partition of 100 MB"
	Of     Measure
	Most   float64 // in bytes, rows, cells or tombstones, as Of says
	Hard   bool    // the engine refuses more; else it warns or slows down
	Source string  // where the number is from
}

// Measure is what a limit bounds.
type Measure uint8

// Measures. A partition is what Engine.Unit says.
const (
	PartitionBytes Measure = iota
	PartitionRows
	PartitionCells
	PartitionTombstones
	CellBytes  // bytes of one value, or of one element of a collection
	TableBytes // bytes of all files of a table, in one copy
)

// Space is the disk space that a cluster needs in addition to one copy of the files.
type Space struct {
	Replicas int // copies of the data, unless the user says otherwise
	// Compaction is the free room, as a share of the files, that compactions need.
	Compaction float64
	Why        string // says where Compaction is from
	// Tombstones is how many days a delete marker stays before compaction may drop it.
	Tombstones float64
}

// Population is who has how much mail at the start, and what messages are like.
type Population struct {
	// Users are the numbers of messages in each folder of each user. A folder that all
	// users share belongs to the first user.
	Users [][]int32
	// Address and Folder are the mean bytes of a user's address and of a folder's name.
	Address, Folder float64
	Sample          []Message // some of the messages; at least one
	Growth          Growth
	// Span is the time in seconds in which the mail was stored.
	Span float64
}

// Growth is how a population changes.
type Growth struct {
	// Yearly is how many messages a folder receives in a year for each that it has
	// at the start.
	Yearly float64
	// Recipients is the mean number of mailboxes that a delivery goes to.
	Recipients float64
	// Operations are how many operations of a name (move, delete, purge) there are
	// for each message received.
	Operations map[string]float64
}

// Message is a message's quantities, by the names of [schemas.Quantities], and those of its attachments.
type Message struct {
	Quantities  map[string]float64
	Attachments []map[string]float64
}

// entity is one user, folder, message or attachment: its quantities, and then those of the entities around it.
type entity []map[string]float64

func (e entity) quantity(name string) float64 {
	for _, own := range e {
		if n, ok := own[name]; ok {
			return n
		}
	}
	return 0
}

// owner is one user, one folder or the whole population at the start. Its messages
// grow in number, its folders do not.
type owner struct{ folders, messages float64 }

// owners are the users or the folders of a population, those with the fewest
// messages first.
func (p *Population) owners(each string) []owner {
	var all []owner
	for _, folders := range p.Users {
		u := owner{folders: float64(len(folders))}
		for _, n := range folders {
			if each == "folder" {
				all = append(all, owner{1, float64(n)})
			}
			u.messages += float64(n)
		}
		if each == "user" {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.messages, b.messages), cmp.Compare(a.folders, b.folders))
	})
	return all
}

// totals counts what a population has.
func (p *Population) totals() (t owner) {
	for _, folders := range p.Users {
		t.folders += float64(len(folders))
		for _, n := range folders {
			t.messages += float64(n)
		}
	}
	return t
}

// Receives sets how many messages a user receives a day, on average. It returns false
// if there are no messages at the start, since folders receive mail in proportion to them.
func (p *Population) Receives(daily float64) bool {
	messages := p.totals().messages
	if messages == 0 {
		return false
	}
	p.Growth.Yearly = daily * 365 * float64(len(p.Users)) / messages
	return true
}

// user returns the quantities of a user and of a folder, which are means.
func (p *Population) user() map[string]float64 {
	folders := p.totals().folders / float64(len(p.Users))
	return map[string]float64{"address": p.Address, "folders": folders, "folder": p.Folder}
}

// kind is a kind of row with its sizes on one engine.
type kind struct {
	*schemas.Rows
	engine *Engine
	one    Row    // without its sizes
	unit   string // what has a partition: an entity, "piece" or "all"
	// each is what one entity makes, on average: rows, bytes and cells without what
	// partitions take.
	each  Size
	sized float64   // rows that were sized
	key   []float64 // mean bytes of the partition key; until all rows are sized the sum
	// samples are the sizes of the rows of each sampled message.
	samples []Size
	// units are the single rows of the sample, with how many there are of each, for
	// kinds whose rows have a partition each.
	units []unit
	// largest is the largest value of one cell, in bytes.
	largest float64
	// outside is what one entity has in a store of blobs, on average.
	outside struct{ files, bytes float64 }
}

// unit is a partition that holds no more than a message.
type unit struct {
	kind *kind
	Size
	times float64
}

// measure sizes a kind over the sample of a population. For together and around see Row.
func (p *Population) measure(t *schemas.Table, r *schemas.Rows, e *Engine, together, around float64) *kind {
	k := &kind{Rows: r, engine: e, unit: r.Partition, key: make([]float64, len(t.Partition))}
	k.one = Row{Table: t, Static: r.Static, Together: together, Around: around, Span: p.Span}
	if n := e.Unit(t); !r.Static && n > len(t.Partition) {
		k.unit = r.Each
		if r.Of != "" && n == len(t.Key()) {
			k.unit = "piece"
		}
	}
	times, user := float64(r.Times), p.user()
	switch r.Each {
	case "user", "folder":
		k.each.add(times, k.pieces(entity{user}))
	default:
		for i := range p.Sample {
			var s Size
			if msg := &p.Sample[i]; r.Each == "message" {
				s.add(times, k.pieces(entity{msg.Quantities, user}))
			} else {
				for _, attachment := range msg.Attachments {
					s.add(times, k.pieces(entity{attachment, msg.Quantities, user}))
				}
			}
			k.each.add(1/float64(len(p.Sample)), s)
			k.samples = append(k.samples, s)
		}
		k.outside.files *= times / float64(len(p.Sample))
		k.outside.bytes *= times / float64(len(p.Sample))
	}
	for i := range k.key {
		k.key[i] /= max(1, k.sized)
	}
	return k
}

// pieces sizes the rows that an entity makes: one, or one for each piece.
func (k *kind) pieces(of entity) (s Size) {
	if k.Of == "" {
		s = k.row(of)
		k.units = append(k.units, unit{k, s, float64(k.Times)})
		return s
	}
	left, piece := of.quantity(k.Of), float64(k.Piece)
	if k.Store() != "" && left > float64(k.Above) {
		k.outside.files++
		k.outside.bytes += left
		return s
	}
	add := func(times, bytes float64) {
		if times == 0 || bytes == 0 {
			return
		}
		one := k.row(append(entity{{"piece": bytes}}, of...))
		s.add(times, one)
		k.units = append(k.units, unit{k, one, times * float64(k.Times)})
	}
	add(math.Floor(left/piece), piece)
	add(1, math.Mod(left, piece))
	return s
}

// row sizes one row.
func (k *kind) row(of entity) Size {
	r := k.one
	for _, c := range k.ColumnsOf(r.Table) {
		at := slices.IndexFunc(k.Sizes, func(s schemas.ColumnSize) bool { return s.Column == c })
		cell := Cell{Column: c, Count: 1, Bytes: float64(c.Type.Bytes())}
		if at >= 0 {
			size := &k.Sizes[at]
			if size.None {
				continue
			}
			cell.Bytes = size.Bytes.Value(of.quantity)
			if size.Cells != nil {
				cell.Count = size.Cells.Value(of.quantity)
			}
		}
		if c.Role == schemas.Partition || c.Role == schemas.Clustering {
			r.Key = append(r.Key, cell.Bytes)
			continue
		}
		r.Cells = append(r.Cells, cell)
		if cell.Count > 0 {
			k.largest = max(k.largest, cell.Bytes/cell.Count)
		}
	}
	for i := range k.key {
		k.key[i] += r.Key[i]
	}
	k.sized++
	return k.engine.Row(&r)
}

// declared returns an error that says what to write, if no table of a schema
// declares its rows. If some do, a forecast takes the others to be empty.
func declared(s *schemas.Schema) error {
	if slices.ContainsFunc(s.Tables, func(t *schemas.Table) bool { return len(t.Rows) > 0 }) {
		return nil
	}
	t := s.Tables[0]
	at, where, form := t.Pos.In(s.File), "in table "+t.Name, "rows: [%s]"
	if strings.Contains(at, ".cql:") {
		where, form = "before CREATE TABLE "+t.Name, "-- rows: %s"
	}
	return fmt.Errorf("%s: no table of schema %s declares its rows of mail, which a forecast needs; "+
		"write, %s for example, %s, or for rows that are not mail %s", at, s.Name, where,
		fmt.Sprintf(form, "{each: message, partition: folder, sizes: {COLUMN: BYTES}}"),
		fmt.Sprintf(form, "{each: order, per: {day: 5000}, sizes: {COLUMN: BYTES}}"))
}
