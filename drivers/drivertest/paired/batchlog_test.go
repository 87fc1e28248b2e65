package paired

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

//go:embed batchlog.yaml
var batchLogSource []byte

// BenchmarkBatchLog compares three ways to write rows of several partitions on three nodes of
// Cassandra, each of which has a replica: one logged batch, one that is not logged, and a request
// for each row, eight at a time. server-cpu-ns/op is the processor time of all nodes together.
//
//	MAILBENCH_PAIRS=8 go test -run '^$' -bench BatchLog -benchtime 300ms ./drivers/drivertest/paired
func BenchmarkBatchLog(b *testing.B) {
	if os.Getenv("MAILBENCH_TEST_CASSANDRA3") == "" && os.Getenv("MAILBENCH_TEST_ENGINES") == "" {
		b.Skip("MAILBENCH_TEST_CASSANDRA3 is not set: it names the folder of three nodes")
	}
	in := live.Cassandra3(b)
	var nodes []int
	for _, n := range in.Nodes() {
		nodes = append(nodes, n.Process.PID)
	}
	st := drivertest.OpenLive(b, cassandra.Engine(), drivers.Options{Contact: in.Contact(), Namespace: newNamespace()})
	s := applied(b, st, batchLogSource)
	for _, rows := range []int{2, 20} {
		var sides []loop
		for _, pattern := range []string{"logged", "unlogged", "parallel"} {
			l := open(b, driverSide(b, st, s, pattern, rowsOf(rows)), 4)
			l.name = pattern
			sides = append(sides, l)
		}
		for pair := range pairs(b) + 1 {
			for i := range sides {
				l := sides[(i+pair)%len(sides)]
				b.Run(fmt.Sprintf("rows=%d/pair=%d/side=%s", rows, pair, l.name), func(b *testing.B) {
					before := drivers.ProcessorTime(nodes...)
					l.run(b)
					b.ReportMetric(float64((drivers.ProcessorTime(nodes...)-before)/time.Duration(b.N)), "server-cpu-ns/op")
				})
			}
		}
	}
}

// rowsOf writes so many rows in an operation.
func rowsOf(rows int) func(drivers.Session, drivers.Statement) Op {
	return func(session drivers.Session, stmt drivers.Statement) Op {
		a, parts := drivers.Blob(make([]byte, 200)), make([]drivers.Call, rows)
		return func(ctx context.Context, n uint64) error {
			for i := range parts {
				parts[i].Args = []drivers.Value{drivers.Text(batchKey(n, i)), a}
			}
			return session.Batch(ctx, stmt, parts)
		}
	}
}
