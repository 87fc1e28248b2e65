package modeltest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Row is a row of a table by column name.
type Row map[string]drivers.Value

// Damage is a change of one row of a whole store, made without the model, and the
// counts that the model's verification must then report in addition. In that store, ann has
// two messages in her INBOX and two in Work. The newest in her INBOX was read. Bob
// has all four in his INBOX. Each message has an attachment of four chunks.
type Damage struct {
	Name  string
	Table string
	Match func(Row) bool // whether to change a row; the first by key that matches is changed; nil: any
	Every bool           // with Add: all rows that match are changed
	// The change: set columns, add to columns, or insert a copy with another key.
	// If all are nil, the row is deleted.
	Set    Row
	Add    map[string]int64
	Insert func(r Row, rows []Row)
	Row    func(r Row, rows []Row) // with Add: to another row than the one that matches
	Want   models.Audit
	// Finds are the findings of a check against the schema alone: the table, the reference or count, the number of
	// rows, and "left over" if they are not broken.
	Finds []string
}

// Elsewhere is an id that no row has.
var Elsewhere = [16]byte{0xde, 0xad, 0xbe, 0xef, 0, 0, 0x10, 0, 0x80, 1}

// Is matches rows by the text in one column. A * matches any text.
func Is(column, text string) func(Row) bool {
	return func(r Row) bool {
		ok, err := path.Match(text, r[column].Str())
		return ok && err == nil
	}
}

// Moves returns an Insert that copies a row and changes one column of its key.
func Moves(column string, to drivers.Value) func(Row, []Row) {
	return func(r Row, _ []Row) { r[column] = to }
}

// ToOther returns an Insert that copies a row and gives one column of its key another row's
// value. If an owner column is named, both rows have the same owner.
func ToOther(owner, column string) func(Row, []Row) {
	return func(r Row, rows []Row) {
		for _, x := range rows {
			if (owner == "" || x[owner].Equal(r[owner])) && !x[column].Equal(r[column]) {
				r[column] = x[column]
				return
			}
		}
	}
}

// write runs a write on the row's key with values for the pattern's columns.
func (f *fixture) write(p *schemas.Pattern, r Row, values ...drivers.Value) {
	f.TB.Helper()
	p.Name, p.By = "damage", p.Table.Key()
	var args []drivers.Value
	for _, c := range p.By {
		args = append(args, r[c.Name])
	}
	st, err := f.Store.Prepare(f.ctx, p)
	f.Must(err)
	_, err = f.Session().Write(f.ctx, st, append(args, values...))
	f.Must(err)
}

// add adds n to a number of a row. A counter has no other write, and on some engines only
// counters can be added to.
func (f *fixture) add(table *schemas.Table, r Row, column string, n int64) {
	f.TB.Helper()
	c := table.Column(column)
	p := &schemas.Pattern{Kind: schemas.Add, Table: table, Columns: []*schemas.Column{c}}
	if c.Type.Kind != schemas.Counter {
		p.Kind = schemas.Put
		n += r[column].Int64()
	}
	f.write(p, r, drivers.Number(c.Type.Kind, n))
}

// harm makes the change of a Damage.
func (f *fixture) harm(d Damage) {
	f.TB.Helper()
	table := f.Schema.Table(d.Table)
	if table == nil {
		f.Fatalf("schema %s has no table %s", f.Schema.Name, d.Table)
	}
	scan, rows, damaged := schemas.ScanOf(table), []Row{}, false
	for _, row := range f.read(scan) {
		r := Row{}
		for i, c := range scan.Columns {
			r[c.Name] = row[i]
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Row) (order int) { // by key, since each engine scans in its own order
		for _, c := range table.Key() {
			order = cmp.Or(order, drivertest.Compare(a[c.Name], b[c.Name]))
		}
		return order
	})
	for _, r := range rows {
		if d.Match != nil && !d.Match(r) {
			continue
		}
		if d.Row != nil {
			d.Row(r, rows)
		}
		for column, n := range d.Add {
			f.add(table, r, column, n)
		}
		for column, v := range d.Set {
			f.write(&schemas.Pattern{Kind: schemas.Put, Table: table, Columns: []*schemas.Column{table.Column(column)}}, r, v)
		}
		switch {
		case d.Insert != nil:
			var values []drivers.Value
			for _, c := range table.Columns {
				values = append(values, r[c.Name])
			}
			d.Insert(r, rows)
			f.write(&schemas.Pattern{Kind: schemas.Put, Table: table, Columns: table.Columns}, r, values...)
		case d.Add == nil && d.Set == nil:
			f.write(&schemas.Pattern{Kind: schemas.Delete, Table: table, Scope: schemas.ScopeRow}, r)
		}
		if damaged = true; !d.Every {
			return
		}
	}
	if !damaged {
		f.Fatalf("no row of %s to damage", d.Table)
	}
}

// testDamage damages a whole store and checks the audit.
func testDamage(t *testing.T, s *suite, d Damage) {
	f := s.start(t, Sized(1000, 0))
	diff := f.differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	for n := range 4 {
		l := sample(n)
		l.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(3500, n)}}
		diff.deliver(l.Message(), a.folders[n%2], b.folders[0])
	}
	diff.change("flag", diff.on(a.folders[0], diff.list(a.folders[0])[0]))
	before := diff.checkAudit()
	if d.Table != "" {
		f.harm(d)
	}
	r, err := validate.Run(f.ctx, f.Store, f.Schema, validate.Config{Workers: 2})
	f.Must(err)
	var found []string
	for _, x := range r.Findings {
		text := fmt.Sprintf("%s %s: %d", x.Table, x.Name, x.Rows)
		if x.Leftover {
			text += " left over"
		}
		found = append(found, text)
	}
	if !slices.Equal(found, d.Finds) {
		t.Errorf("a check against the schema finds %q, want %q", found, d.Finds)
	}
	got := f.Audit(diff.got)
	if countsOf(d.Want) == countsOf(models.Audit{}) && d.Finds == nil { // it is no damage: all is read as before
		diff.check()
	}
	if countsOf(d.Want).faults() != "" && len(got.Notes) == 0 {
		t.Errorf("the audit names no row: %+v", got)
	}
	if more := countsOf(got).since(countsOf(before)).since(countsOf(d.Want)).changes(); more != "" {
		t.Errorf("the audit counts %s more than it should: %+v", more, got)
	}
	drift := models.Audit{CounterDrift: d.Want.CounterDrift}
	if r, ok := diff.got.(models.Recounter); ok && d.Add != nil && countsOf(d.Want) == countsOf(drift) {
		for _, a := range diff.accounts {
			if err := r.Recount(diff.ctx, a.got); err != nil {
				t.Fatalf("recount: %v", err)
			}
		}
		diff.check()
	}
}
