package cmd

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
)

var updateRendered = flag.Bool("update-rendered", false, "write schemas/*.cql, *.hbase and *.sql anew")

// TestRendered compares what each bundled schema is in the language of each engine with
// the files in schemas, which people compare with the documents.
func TestRendered(t *testing.T) {
	for engine, suffix := range map[string]string{"cassandra": ".cql", "hbase": ".hbase", "oraclenosql": ".sql"} {
		for _, name := range schemas.BundledVariants("") {
			var got, errs bytes.Buffer
			if status := execute(bundled(), []string{"schema", "render", name, "-e", engine}, &got, &errs); status != exitOK {
				t.Fatalf("%s for %s: status %d, %s", name, engine, status, errs.String())
			}
			golden := "../schemas/" + name + suffix
			if *updateRendered {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("%s (-is +should be; go test ./cmd -run Rendered -update-rendered if that is right):\n%s", golden, d)
			}
		}
	}
}
