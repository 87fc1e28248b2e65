package population

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/oraclenosql"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas/forecast"
)

var update = flag.Bool("update", false, "rewrite the golden file in testdata")

// TestForecasts holds the forecasts of all models on all engines to the written ones,
// which make check CHECK=forecast has compared with the engines' files.
func TestForecasts(t *testing.T) {
	p := everything(t, parse(t))
	p.Span = 60
	var b strings.Builder
	for _, e := range []drivers.Engine{pebble.Engine(), cassandra.Engine(), hbase.Engine(), oraclenosql.Engine()} {
		for _, m := range all() {
			s, err := m.Schema()
			if err != nil {
				t.Fatal(err)
			}
			engine, err := e.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			f, err := forecast.Make(s, p, engine)
			if err != nil {
				t.Fatal(err)
			}
			for _, tb := range f.Tables {
				at, partitions := tb.At(0), 0.0
				for _, g := range tb.Groups {
					partitions += g.Count(0)
				}
				fmt.Fprintf(&b, "%-9s %-12s %-23s %6.0f rows %6.0f cells %9.0f bytes in %5.0f partitions", e.Name, m.Name, tb.Name,
					at.Rows, at.Cells, at.Bytes, partitions)
				if len(tb.Groups) > 0 {
					fmt.Fprintf(&b, ", the largest %7.0f", tb.Groups[len(tb.Groups)-1].Quantile(1, 0).Bytes)
				}
				b.WriteByte('\n')
			}
		}
	}
	const file = "testdata/forecasts.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("forecasts differ from %s (-want +got); if they are right, run make check CHECK=forecast and rewrite it with -update:\n%s", file, diff)
	}
}
