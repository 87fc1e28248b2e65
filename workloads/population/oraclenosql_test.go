package population

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/oraclenosql"
)

// TestOracleNoSQLLive compares forecasts with the sizes that a server of Oracle's reports for the rows
// and index entries of a population.
func TestOracleNoSQLLive(t *testing.T) {
	e := oraclenosql.Engine()
	contact := live.Contact(t, e.Name)
	w := parse(t)
	p := everything(t, w)
	client, err := nosqldb.NewClient(nosqldb.Config{
		Mode: "onprem", Endpoint: "http://" + contact, LoggingConfig: nosqldb.LoggingConfig{DisableLogging: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, m := range all() {
		t.Run(m.Name, func(t *testing.T) {
			namespace := "f" + strings.ToLower(rand.Text()[:15])
			s, err := m.Schema()
			if err != nil {
				t.Fatal(err)
			}
			st := open(t, e, contact, namespace)
			p.Span = load(t, w, m, st, s, "").Seconds()
			have := make(map[string]measured)
			for _, tb := range s.Tables {
				if tb.Header() {
					continue
				}
				path := drivers.Prefix + namespace + "_" + s.Name + ":" + strings.ReplaceAll(tb.Name, "$", "_")
				sizes := []string{"sum(row_storage_size($t))"}
				for _, x := range tb.Indexes {
					sizes = append(sizes, fmt.Sprintf("sum(index_storage_size($t, %q))", x.Name))
				}
				paths := []string{path}
				if len(tb.Static) > 0 {
					paths, sizes = []string{path, path + ".rows"}, sizes[:1]
				}
				one := measured{rows: -1}
				for _, path := range paths {
					one.bytes += sum(t, client, fmt.Sprintf("SELECT %s AS bytes FROM %s $t", strings.Join(sizes, "+"), path))
				}
				have[tb.Name] = one
			}
			compare(t, s, p, e, have)
		})
	}
}

// sum runs a query of one row with one number; 0 for null, where there are no rows.
func sum(t *testing.T, client *nosqldb.Client, query string) float64 {
	t.Helper()
	r, err := client.Prepare(&nosqldb.PrepareRequest{Statement: query})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for q := (&nosqldb.QueryRequest{PreparedStatement: &r.PreparedStatement}); ; {
		answer, err := client.Query(q)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		rows, err := answer.GetResults()
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, row := range rows {
			switch n := row.Map()["bytes"].(type) {
			case int64:
				return float64(n)
			case int:
				return float64(n)
			}
		}
		if q.IsDone() {
			return 0
		}
	}
}
