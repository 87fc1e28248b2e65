package keyspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// open loads so many rows of a schema file into an engine.
func open(t *testing.T, e drivers.Engine, file string, rows int, said map[string]*workloads.Values) (*Keyspace, *mailbox) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schemas.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Of(s, engines.All())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var store drivers.Store
	if e.Remote {
		o := drivers.Options{Contact: []string{live.Contact(t, e.Name)}, Namespace: "p" + strings.ToLower(rand.Text()[:15])}
		store = drivertest.OpenLive(t, e, o)
	} else if store, err = e.Open(ctx, drivers.Options{Dir: filepath.Join(t.TempDir(), "store"), Durability: drivers.Memory}); err != nil {
		t.Fatal(err)
	} else {
		t.Cleanup(func() { store.Close() })
	}
	if err := store.Apply(ctx, k.Schema); err != nil {
		t.Fatal(err)
	}
	prepared, err := drivers.PrepareAll(ctx, store, k.Schema)
	if err != nil {
		t.Fatal(err)
	}
	w := &workloads.Workload{Seed: 1, Values: said}
	for _, p := range k.Schema.Patterns {
		if !strings.HasPrefix(p.Name, "load") {
			w.Patterns = append(w.Patterns, p.Name)
		}
	}
	b, err := k.For(w, rows).Bind(ctx, prepared, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.Session()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	m := b.Mailbox(session).(*mailbox)
	for range rows {
		if err := m.Deliver(ctx, nil, nil, make([]models.Handle, 1)); err != nil {
			t.Fatal(err)
		}
	}
	return k, m
}

// TestPatterns runs each pattern of keyspaces from other projects: reads find rows, writes are applied.
func TestPatterns(t *testing.T) {
	var files []string
	for _, glob := range []string{"lint/testdata/corpus/*/*.yaml", "imports/testdata/*.yaml"} {
		found, err := filepath.Glob("../../schemas/" + glob)
		if err != nil || len(found) == 0 {
			t.Fatal(glob, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			runAll(t, pebble.Engine(), file)
		})
	}
}

// TestLive runs the patterns of three keyspaces on engines over the network.
func TestLive(t *testing.T) {
	for _, e := range []drivers.Engine{cassandra.Engine(), hbase.Engine()} {
		for _, name := range []string{"killrvideo", "sensors", "discord"} {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				runAll(t, e, "../../schemas/lint/testdata/corpus/good/"+name+".yaml")
			})
		}
	}
}

// runAll runs each pattern of a keyspace: reads find rows, writes are applied.
func runAll(t *testing.T, e drivers.Engine, file string) {
	k, m := open(t, e, file, 300, nil)
	order := slices.Clone(k.Patterns)
	slices.SortStableFunc(order, func(a, b *schemas.Pattern) int { return int(a.Kind) - int(b.Kind) }) // deletes last
	for _, p := range order {
		i := slices.IndexFunc(m.statements, func(st drivers.Statement) bool { return st != nil && st.Pattern().Name == p.Name })
		if i < 0 {
			continue // the engine has no way to run it, and reports say so
		}
		hits := 0
		for n := range 20 {
			if !m.Prepare(i, func(rows int) int { return n * 7 % rows }, 10, 5) {
				t.Errorf("%s: no row to choose from", p.Name)
			}
			switch err := m.Run(t.Context()); {
			case err == nil:
				hits++
			case !errors.Is(err, models.ErrNotFound):
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		if hits < 18 {
			t.Errorf("%d of 20 times %s finds rows", hits, p.Name)
		}
	}
}

// TestReadsAllocateNothing: a read runs between two readings of the clock.
func TestReadsAllocateNothing(t *testing.T) {
	_, m := open(t, null.Engine(), "../../schemas/lint/testdata/corpus/good/killrvideo.yaml", 100, nil)
	reads := 0
	for i, st := range m.statements {
		if st == nil || !st.Pattern().Kind.Reads() || !m.Prepare(i, func(int) int { return 0 }, 10, 5) {
			continue
		}
		reads++
		run := func() {
			if err := m.Run(t.Context()); err != nil && !errors.Is(err, models.ErrNotFound) {
				t.Error(st.Pattern().Name, err)
			}
		}
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations", st.Pattern().Name, n)
		}
	}
	if reads == 0 {
		t.Error("no pattern reads")
	}
}

// TestRefers holds the values of columns that refer to rows of another table against those rows.
func TestRefers(t *testing.T) {
	s, err := schemas.Parse("refers.yaml", []byte(`schema: 1
name: refers
tables:
  customers: {partition: [customer uuid], columns: {name: text}, rows: [{each: customer, count: 10000, sizes: {name: 12}}]}
  orders:
    partition: [buyer uuid]
    clustering: [at timeuuid desc]
    columns: {city: text}
    references: {buyer: {to: customers, from: {buyer: '{c}'}, at: {customer: '{c}'}}, city: {to: cities, by: city}}
  visits: {partition: [visit uuid], columns: {customer: uuid}}
  followed: {partition: [follower uuid], clustering: [buyer uuid]}
  lines:
    partition: [line uuid]
    columns: {buyer: uuid, at: timeuuid}
    references: {order: {to: orders, by: [buyer, at]}}
  cities:
    partition: [country text]
    clustering: [city text]
    columns: {river: text}
    indexes: {by_river: river}
    rows: [{each: city, count: 6000, partition: {of: 3}, sizes: {country: 2, city: 9, river: 9}}]
  mails: {partition: [user uuid], clustering: [folder text, msg timeuuid]}
  marks:
    partition: [owner uuid]
    clustering: [folder text, msg timeuuid]
    references:
      mail: {to: mails, from: {owner: '{u}', folder: '{f}', msg: '{m}'}, at: {user: '{u}', folder: '{f}', msg: '{m}'}}
patterns:
  page: {slice: orders, by: buyer, limit: arg}
  at_river: {slice: cities, index: by_river, by: river, limit: arg}
  in_folder: {slice: marks, by: [owner, folder]}
`))
	if err != nil {
		t.Fatal(err)
	}
	k, err := Of(s, engines.All())
	if err != nil {
		t.Fatal(err)
	}
	tables := func(rows int, name string, said workloads.Values) map[string]*table {
		return k.tables(&workloads.Workload{Values: map[string]*workloads.Values{name: &said}}, rows)
	}
	latest := workloads.Values{Access: random.Keys{Theta: 20, Latest: true}}
	all := tables(1000, "orders.city", latest)
	row := func(table string, n uint64, columns ...string) (text string) {
		of := all[table]
		for _, c := range columns {
			v := of.of(of.Column(c)).value(n, 0)
			text += fmt.Sprintf("%x %s ", v.UUIDBytes(), v.Raw())
		}
		return text
	}
	for _, tc := range []struct{ from, by, to, at string }{
		{"orders", "buyer", "customers", "customer"},
		{"orders", "city", "cities", "city"},
		{"lines", "buyer at", "orders", "buyer at"},
		{"visits", "customer", "customers", "customer"},
		{"marks", "owner", "mails", "user"},
		{"marks", "folder", "mails", "folder"},
		{"marks", "msg", "mails", "msg"},
	} {
		there := map[string]bool{}
		for n := range all[tc.to].count {
			there[row(tc.to, n, strings.Fields(tc.at)...)] = true
		}
		for n := range uint64(1000) {
			if got := row(tc.from, n, strings.Fields(tc.by)...); !there[got] {
				t.Fatalf("row %d of %s has %s %s, and %s no such row", n, tc.from, tc.by, got, tc.to)
			}
		}
	}
	if n := tables(100, "", workloads.Values{})["cities"].count; n != 60 || k.Rows != DefaultRows {
		t.Errorf("%d cities of %d rows; expected 60, as tables without rows have %d", n, k.Rows, DefaultRows)
	}
	if c := all["cities"].of(&schemas.Column{Name: "river"}); c.Distinct != 60 {
		t.Errorf("%d rivers of 6000 cities; expected one for 100", c.Distinct)
	}
	if c := tables(1000, "marks.folder", workloads.Values{Distinct: 4})["marks"].columns[1]; c.Distinct != 4 {
		t.Errorf("%d folders of the 4 that the workload says", c.Distinct)
	}
	if a, b := row("orders", 3, "city"), row("cities", 1, "city"); a != b {
		t.Errorf("the latest city is %s, not %s", b, a)
	}
	// A partition that all orders share, as --prove needs for deletes, leaves the rows of tables that refer to it apart.
	all = tables(1000, "orders.buyer", workloads.Values{Distinct: 1})
	if a, b := row("followed", 0, "follower", "buyer"), row("followed", DefaultPartitions, "follower", "buyer"); a == b {
		t.Errorf("two rows are one: %s", a)
	}
}

// TestRows counts the rows that a load leaves: one for each number, in as many partitions as the table has.
func TestRows(t *testing.T) {
	const shop = `schema: 1
name: shop
tables:
  customers: {partition: [customer uuid], columns: {name: text}, rows: [{each: customer, count: 50, sizes: {name: 12}}]}
  orders:
    partition: [customer uuid]
    clustering: [at timeuuid desc]
    columns: {total: bigint, state: text}
    rows: [{each: order, count: 500, partition: {of: 10}, sizes: {state: 4}}]
patterns:
  page: {slice: orders, by: customer, limit: arg}
  in_state: {slice: orders, by: customer, filter: state}
  customer: {get: customers}
  put_order: {put: orders}
`
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(shop), 0o600); err != nil {
		t.Fatal(err)
	}
	k, m := open(t, pebble.Engine(), file, 500, map[string]*workloads.Values{"orders.state": {Distinct: 4}})
	if k.Rows != 500 {
		t.Errorf("%d rows, as the schema says 500", k.Rows)
	}
	states, n := map[string]int{}, 0
	for _, st := range m.statements {
		p, orders := st.Pattern(), m.tables["orders"]
		for g := uint64(0); p.Name == whole("orders") && g < 10; g++ {
			if err := m.s.Read(t.Context(), st, orders.args(p, g, 0, 0, 0), func(row []drivers.Value) error {
				n++
				states[row[3].Str()]++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 500 || len(states) != 4 {
		t.Errorf("%d orders of 500 in 10 partitions, in the states %v of 4", n, states)
	}
	for name := range states {
		if len(name) != 4 {
			t.Errorf("state %q has no size of 4 bytes", name)
		}
	}
}

// TestCalls: a list has as many different keys as a call has items, and a repeated part of a batch as many calls. A
// read that binds a part of the key finds several rows, and each partition has its static columns.
func TestCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(`schema: 1
name: shop
tables:
  orders: {partition: [customer uuid], columns: {state: text}}
  users: {partition: [tenant text, id uuid], columns: {name: text}}
  parcels:
    partition: [depot uuid, day text]
    clustering: [shelf text, at timeuuid]
    static: {owner: text}
    columns: {weight: int}
    rows: [{each: parcel, count: 10000, partition: {of: 1, every: day}, per: {day: 50}, sizes: {day: 10, shelf: 5}}]
  boxes:
    partition: [hall uuid]
    clustering: [aisle text, level text, at timeuuid]
    rows: [{each: box, count: 10000, partition: {of: 1}, sizes: {aisle: 5, level: 5}}]
patterns:
  some: {get: orders, in: customer}
  some_users: {get: users, by: tenant, in: id}
  on_shelf: {slice: parcels, by: [depot, day, shelf]}
  on_level: {slice: boxes, by: [hall, aisle, level], from: at, limit: arg}
  owner: {get: parcels, static: true}
  put_order: {put: orders}
  put_orders: {batch: [{run: put_order, each: order}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	said := map[string]*workloads.Values{"boxes.aisle": {Distinct: 4}, "boxes.level": {Distinct: 6}}
	k, m := open(t, pebble.Engine(), file, 100, said)
	if mix := k.Workload(); strings.Contains(mix, `"put_order":`) || !strings.Contains(mix, `"put_orders":20`) {
		t.Errorf("a pattern that runs as a part of another is measured twice: %s", mix)
	}
	for i, st := range m.statements {
		if !m.Prepare(i, func(int) int { return 0 }, 10, 7) {
			t.Fatal("no row to choose from")
		}
		switch p := st.Pattern(); {
		case p.Kind == schemas.Batch && len(m.call) != 7:
			t.Errorf("a batch of 7 has %d calls", len(m.call))
		case p.In != nil && len(m.call[0].Args[len(p.By)].Elems()) != 7:
			t.Errorf("a list of 7 has %d keys", len(m.call[0].Args[len(p.By)].Elems()))
		case p.Kind.Reads():
			want := map[string]int{"some": 7, "some_users": 7, "on_shelf": 5, "owner": 1, "on_level": 9, whole("parcels"): 50, whole("boxes"): 100}[p.Name]
			if err := m.Run(t.Context()); err != nil || m.rows != want {
				t.Errorf("%s finds %d rows of %d: %v", p.Name, m.rows, want, err)
			}
		}
	}
}

// TestWithoutSchema: a workload with patterns or values of columns needs a schema, and one for mail does not.
func TestWithoutSchema(t *testing.T) {
	values := map[string]*workloads.Values{"orders.state": {}}
	for w, want := range map[*workloads.Workload]bool{
		{}: true, {Values: values}: false, {Patterns: workloads.Patterns{"page"}}: false,
	} {
		if err := (*Keyspace)(nil).Check(w, "mine.yaml"); (err == nil) != want {
			t.Errorf("%d patterns, %d values: %v", len(w.Patterns), len(w.Values), err)
		}
	}
}

// TestExpected: a forecast has the rows and the sizes of values that the workload says, and else those of the schema.
func TestExpected(t *testing.T) {
	s, err := schemas.Parse("shop.yaml", []byte(`schema: 1
name: shop
tables:
  customers: {partition: [customer uuid], columns: {name: text}, rows: [{each: customer, count: 50, sizes: {name: 12}}]}
  orders:
    partition: [customer uuid]
    clustering: [at timeuuid]
    columns: {tags: list<text>, note: text}
    rows: [{each: order, count: 500, partition: {of: 10}, sizes: {tags: {cells: 2, bytes: 9}, note: 30}}]
patterns: {page: {slice: orders, by: customer, limit: arg}}
`))
	if err != nil {
		t.Fatal(err)
	}
	k, err := Of(s, engines.All())
	if err != nil {
		t.Fatal(err)
	}
	swept := &workloads.Values{Size: random.Uniform{Low: 100, High: 300}}
	for _, tc := range []struct {
		said map[string]*workloads.Values
		rows int
		want string
	}{
		{nil, 500, "customers 50 in 0: name 12; orders 500 in 10: tags 2 of 20, note 30; "},
		{map[string]*workloads.Values{"orders.note": swept}, 5000, "customers 500 in 0: name 12; orders 5000 in 10: tags 2 of 20, note 200; "},
		{map[string]*workloads.Values{"orders.tags": swept}, 500, "customers 50 in 0: name 12; orders 500 in 10: tags 200 of 2000, note 30; "},
	} {
		s, err := k.For(&workloads.Workload{Values: tc.said}, tc.rows).Schema()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, of := range s.Tables {
			r := of.Rows[0]
			var sizes []string
			for _, size := range r.Sizes {
				one := fmt.Sprintf("%s %g", size.Column.Name, size.Bytes.Value(nil))
				if size.Cells != nil {
					one = fmt.Sprintf("%s %g of %g", size.Column.Name, size.Cells.Value(nil), size.Bytes.Value(nil))
				}
				sizes = append(sizes, one)
			}
			got += fmt.Sprintf("%s %d in %d: %s; ", of.Name, r.Growth.Count, r.Growth.Of, strings.Join(sizes, ", "))
		}
		if got != tc.want {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}

// TestDeletes deletes rows where reads begin, at the newest of a table that is read from there, and reads the others.
func TestDeletes(t *testing.T) {
	for order, newest := range map[string]bool{"desc": true, "asc": false, "desc, read backwards": false, "asc, read backwards": true} {
		file := filepath.Join(t.TempDir(), "notices.yaml")
		src := strings.Replace(`schema: 1
name: notices
tables: {notices: {partition: [user uuid], clustering: [id timeuuid desc], columns: {kind: text}}}
patterns:
  notice: {get: notices}
  dismiss: {delete: notices, by: [user, id]}
  page: {slice: notices, by: user, limit: arg}
`, " desc", map[bool]string{true: " desc"}[strings.HasPrefix(order, "desc")], 1)
		if strings.HasSuffix(order, "backwards") {
			src = strings.Replace(src, "limit: arg", "limit: arg, reverse: true", 1)
		}
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		_, m := open(t, pebble.Engine(), file, 1000, map[string]*workloads.Values{"notices.user": {Distinct: 1}})
		run := func(pattern, row int) error {
			if !m.Prepare(pattern, func(int) int { return row }, 10, 5) {
				t.Fatal("no row to choose from")
			}
			return m.Run(t.Context())
		}
		for range 900 {
			if err := run(1, 0); err != nil {
				t.Fatal(err)
			}
		}
		for row := range 100 {
			if err := run(0, row); err != nil {
				t.Errorf("%s: row %d of those that are left: %v", order, row, err)
			}
		}
		if oldest := m.tables["notices"].first.Load() == 0; oldest != newest {
			t.Errorf("%s: the oldest row is there: %v", order, oldest)
		}
	}
}
