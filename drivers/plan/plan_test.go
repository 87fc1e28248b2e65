package plan_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

const source = `
schema: 1
name: planned
tables:
  mail:
    partition: [user text]
    clustering: [id int]
    static: {title: text}
    columns: {size: bigint, subject: text, tags: set<text>, files: "map<text,bigint>"}
  parts: {partition: [user text], clustering: [part int, id int]}
  counts: {partition: [user text], columns: {unread: counter}}
patterns:
  page: {slice: mail, by: user, limit: arg, columns: [title, id, size, user]}
  after: {slice: parts, by: user, after: [part, id], columns: id}
  put: {put: mail, columns: size}
  count: {increment: counts, columns: unread}
  both: {batch: [put]}
`

func parse(t *testing.T) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("planned.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pattern(t *testing.T, name string) *schemas.Pattern { return parse(t).Pattern(name) }

func TestLimit(t *testing.T) {
	page := pattern(t, "page")
	fixed := *page
	fixed.LimitArg, fixed.Limit = false, 7
	user := drivers.Text("u")
	for _, c := range []struct {
		pattern *schemas.Pattern
		args    []drivers.Value
		want    int64
	}{
		{page, []drivers.Value{user, drivers.Bigint(3)}, 3},
		{page, []drivers.Value{user, drivers.Bigint(0)}, 0},
		{page, []drivers.Value{user, drivers.Bigint(-3)}, 0},
		{page, []drivers.Value{user, {}}, -1},
		{&fixed, []drivers.Value{user}, 7},
	} {
		gate := &plan.Gate{Engine: "test"}
		st, err := plan.Prepare(gate, c.pattern, func(p *schemas.Pattern) (*statement, error) {
			return &statement{plan.Of(p)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s := open(gate)
		if err := s.Read(t.Context(), st, c.args, nil); err != nil || s.left != c.want {
			t.Errorf("limit with %v: %d, %v; want %d", c.args, s.left, err, c.want)
		}
	}
}

func TestRow(t *testing.T) {
	page := pattern(t, "page")
	s, gate := new(preset), &plan.Gate{Engine: "test"}
	s.Init(gate, s)
	st, err := plan.Prepare(gate, page, func(p *schemas.Pattern) (*statement, error) {
		st := &statement{plan.Of(p)}
		st.Outputs(p.Table.Key(), p.Table.Columns, p.Table.Static)
		return st, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.row = []drivers.Value{drivers.Text("u"), drivers.Int(1), drivers.Bigint(9), {}, {}, {}, drivers.Text("title")}
	want := []drivers.Value{drivers.Text("title"), drivers.Int(1), drivers.Bigint(9), drivers.Text("u")}
	var row []drivers.Value
	err = s.Read(t.Context(), st, []drivers.Value{drivers.Text("u"), drivers.Bigint(1)}, func(got []drivers.Value) error {
		row = slices.Clone(got)
		return nil
	})
	if err != nil || !slices.EqualFunc(row, want, drivers.Value.Equal) {
		t.Errorf("the row is %v, want %v; %v", row, want, err)
	}
}

func TestFits(t *testing.T) {
	s := parse(t)
	text, number := drivers.Text("x"), drivers.Bigint(1)
	for _, c := range []struct {
		column string
		value  drivers.Value
		fits   bool
	}{
		{"subject", text, true},
		{"subject", drivers.Value{}, true},
		{"subject", number, false},
		{"size", drivers.Counter(1), true},
		{"unread", number, true},
		{"unread", text, false},
		{"size", drivers.Int(1), false},
		{"tags", drivers.SetOf([]drivers.Value{text}), true},
		{"tags", drivers.SetOf([]drivers.Value{{}}), false},
		{"tags", drivers.SetOf([]drivers.Value{number}), false},
		{"files", drivers.MapOf([]drivers.Value{text, number}), true},
		{"files", drivers.MapOf([]drivers.Value{number, text}), false},
		{"files", drivers.MapOf([]drivers.Value{text}), false},
	} {
		column := s.Table("mail").Column(c.column)
		if column == nil {
			column = s.Table("counts").Column(c.column)
		}
		if err := plan.Fits(&column.Type, &c.value); (err == nil) != c.fits {
			t.Errorf("%v for %s: %v", c.value, c.column, err)
		}
	}
}

// TestPartly: once a part was applied, what became of the batch is unknown.
func TestPartly(t *testing.T) {
	refused := errors.New("refused")
	if err := plan.PartsApplied(refused, 0, 5); errors.Is(err, drivers.ErrUnknown) || !errors.Is(err, refused) {
		t.Errorf("no part was applied: %v", err)
	}
	if err := plan.PartsApplied(refused, 2, 5); !errors.Is(err, drivers.ErrUnknown) || !errors.Is(err, refused) {
		t.Errorf("two parts were applied: %v, want unknown", err)
	}
}
