package patterns

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// open loads so many rows of a schema file into an embedded engine.
func open(t *testing.T, file string, rows int, said map[string]models.Values) (*Keyspace, *mailbox) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schemas.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	store, err := pebble.Engine().Open(ctx, drivers.Options{Dir: filepath.Join(t.TempDir(), "store"), Durability: drivers.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.Apply(ctx, k.Schema); err != nil {
		t.Fatal(err)
	}
	prepared, err := drivers.PrepareAll(ctx, store, k.Schema)
	if err != nil {
		t.Fatal(err)
	}
	o := models.Options{Rows: models.Rows{Seed: 1, Columns: said}}
	for _, p := range k.Schema.Patterns {
		if !strings.HasPrefix(p.Name, load) {
			o.Rows.Patterns = append(o.Rows.Patterns, p.Name)
		}
	}
	b, err := k.Model().Bind(ctx, prepared, o)
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
			k, m := open(t, file, 300, nil)
			order := slices.Clone(k.Patterns)
			slices.SortStableFunc(order, func(a, b *schemas.Pattern) int { return int(a.Kind) - int(b.Kind) }) // deletes last
			for _, p := range order {
				i := slices.IndexFunc(m.patterns, func(o *pattern) bool { return o.Name == p.Name })
				if i < 0 {
					continue // the embedded engine has no way to run it, and reports say so
				}
				found := 0
				for n := range 20 {
					if !m.Prepare(i, func(rows int) int { return n * 7 % rows }, 10, 5) {
						t.Errorf("%s: no row to choose from", p.Name)
					}
					err := m.Run(t.Context())
					deleted := errors.Is(err, models.ErrNotFound) && slices.ContainsFunc(k.Patterns, func(o *schemas.Pattern) bool {
						return o.Kind == schemas.Delete && o.Table == p.Table
					})
					if err != nil && !deleted {
						t.Errorf("%s: %v", p.Name, err)
					}
					found += m.rows
				}
				if p.Kind.Reads() && found < 10 {
					t.Errorf("20 times %s finds %d rows", p.Name, found)
				}
			}
		})
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
	k, m := open(t, file, 500, map[string]models.Values{"orders.state": {Distinct: 4}})
	if k.Rows != 500 {
		t.Errorf("%d rows, as the schema says 500", k.Rows)
	}
	states, n := map[string]int{}, 0
	for _, p := range m.patterns {
		for g := uint64(0); p.Name == Whole+"orders" && g < 10; g++ {
			if err := m.s.Read(t.Context(), p.statement, p.args(g, 0, 0, 0), func(row []drivers.Value) error {
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
