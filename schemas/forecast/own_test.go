package forecast

import (
	"math"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

const shop = `
schema: 1
name: shop
tables:
  orders:
    partition: [customer text, week text]
    clustering: [id uuid]
    columns: {total: bigint, note: text}
    rows: [{each: order, per: {day: 10}, partition: {of: 5, every: week}, sizes: {customer: 4, week: 7, note: 20}}]
  recent:
    partition: [shard int]
    clustering: [id uuid]
    hints: {cassandra: {ttl: 604800}}
    rows: [{each: order, per: {day: 10}, partition: all}]
  products: {partition: [id uuid], columns: {price: bigint}, rows: [{each: product, count: 100, times: 2}]}
  reviews:
    partition: [product uuid]
    clustering: [at bigint]
    rows: [{each: review, count: 400, partition: {of: 10}}]
`

func parseShop(t *testing.T, text string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOwn compares with numbers that were computed by hand. A row of orders has 4 + 7 + 16 bytes of
// key and 8 + 20 of columns, which is 55; a partition takes 10 more, a table 100.
func TestOwn(t *testing.T) {
	s := parseShop(t, shop)
	if !Own(s) {
		t.Fatal("the schema is said to need mail")
	}
	f, err := Make(s, nil, bare(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		table                   int
		years                   float64
		rows, bytes, partitions float64
		median, largest         float64 // bytes of partitions
	}{
		// 3650 orders: 52 weeks of 70 in 5 partitions, and a last one of 10. A full partition has 14.
		{0, 1, 3650, 3650*55 + 265*10 + 100, 265, 14*55 + 10, 14*55 + 10},
		// 304.17 orders: 4 weeks, and a last one.
		{0, 1. / 12, 3650. / 12, 3650./12*55 + 25*10 + 100, 25, 14*55 + 10, 14*55 + 10},
		// The first days: 20 orders, 4 in each partition.
		{0, 2. / 365, 20, 20*55 + 5*10 + 100, 5, 4*55 + 10, 4*55 + 10},
		// Those of the last 7 days, 4 + 16 bytes each, in one partition.
		{1, 1, 70, 70*20 + 10 + 100, 1, 70*20 + 10, 70*20 + 10},
		{1, 1. / 365, 10, 10*20 + 10 + 100, 1, 10*20 + 10, 10*20 + 10},
		// 100 products with two rows of 24 bytes, which do not grow.
		{2, 5, 200, 200*24 + 100*10 + 100, 100, 2*24 + 10, 2*24 + 10},
		// 10 partitions of 40 reviews of 24 bytes.
		{3, 1, 400, 400*24 + 10*10 + 100, 10, 40*24 + 10, 40*24 + 10},
	} {
		tb := f.Tables[x.table]
		at, median, largest := tb.At(x.years), tb.Groups[0].Quantile(0.5, x.years), tb.Groups[0].Quantile(1, x.years)
		for _, n := range []struct {
			what      string
			got, want float64
		}{
			{"rows", at.Rows, x.rows},
			{"bytes", at.Bytes, x.bytes},
			{"bytes of the median", median.Bytes, x.median},
			{"bytes of the largest", largest.Bytes, x.largest},
			{"count", tb.Groups[0].Count(x.years), x.partitions},
		} {
			if math.Abs(n.got-n.want) > 1e-6*n.want {
				t.Errorf("%s after %.3g years: %s %.2f, want %.2f", tb.Name, x.years, n.what, n.got, n.want)
			}
		}
	}
}

// TestOwnLimits: a partition of orders passes 600 bytes with 10.7 orders, which 5 partitions have
// after 5.4 days; one of recent has 30 rows after 3 days; one of reviews is over 600 bytes at the start.
func TestOwnLimits(t *testing.T) {
	f, err := Make(parseShop(t, shop), nil, bare(0))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"orders partition over 600 bytes": (600 - 10) / 55. * 5 / 10, "recent partition over 30 rows": 3,
		"recent partition over 600 bytes": (600 - 10) / 20. / 10, "reviews partition over 600 bytes": 0,
		"recent partition over 1 KB": (1000 - 10) / 20. / 10, "reviews partition over 30 rows": 0,
		"orders table over 10 KB": 18, // 18 days: 180 * 55 + 15 * 10 + 100
	}
	for _, p := range f.Limits(5) {
		name := p.Table + " " + p.Limit
		days, ok := want[name]
		if !ok {
			t.Errorf("%s: passed after %.1f days, want never", name, *p.Largest*365)
		} else if math.Abs(*p.Largest*365-days) > 1 {
			t.Errorf("%s: passed after %.1f days, want %.1f", name, *p.Largest*365, days)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is not passed", name)
	}
}

func TestOwnFormat(t *testing.T) {
	s := parseShop(t, shop)
	text := schemas.Format(s)
	again := parseShop(t, string(text))
	if got := string(schemas.Format(again)); got != string(text) {
		t.Errorf("format is not stable:\n%s\n%s", text, got)
	}
	for i, tb := range s.Tables {
		if *tb.Rows[0].Growth != *again.Tables[i].Rows[0].Growth {
			t.Errorf("table %s: %+v became %+v", tb.Name, *tb.Rows[0].Growth, *again.Tables[i].Rows[0].Growth)
		}
	}
}

func TestOwnRefused(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{"each: order, per: {day: 10}, partition: {of: 5", "each: user, per: {day: 10}, partition: {of: 5", "the workload sets the number of each user,"},
		{"{day: 10}", "{dya: 10}", `did you mean "day"?`},
		{"{day: 10}", "{day: 10, week: 3}", "must have one period, such as {day: 5000}"},
		{"every: week", "every: weak", `did you mean "week"?`},
		{"partition: {of: 10}", "partition: {every: day}", "need a rate of rows, such as per: {day: 100}"},
		{"count: 100, times: 2", "count: 100, ends: [delete]", "ends is for rows of mail"},
		{"partition: all", "partition: some", "must be all, or {of: NUMBER, every: PERIOD}"},
		{"count: 100, times: 2", "times: 2", `unknown entity "product"`},
		{", note: 20", "", "no size of column note"},
	} {
		_, err := schemas.Parse("shop.yaml", []byte(strings.Replace(shop, x.old, x.new, 1)))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v does not say %q", x.new, err, x.want)
		}
	}
}
