package paired

import (
	"context"
	_ "embed"
	"fmt"
	"testing"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase"
)

//go:embed batch.yaml
var batchSource []byte

// batches is how many batches of rows there are.
const batches = 1000

// BenchmarkBatch measures what the driver's batches cost on HBase, of 2 and 20 rows, and its
// reads of as many rows, over gohbase's SendBatch:
//
//	MAILBENCH_PAIRS=12 go test -run '^$' -bench Batch -benchtime 1s -timeout 3h ./drivers/drivertest/paired
func BenchmarkBatch(b *testing.B) {
	st, namespace := onServer(b, hbase.Engine())
	s := applied(b, st, batchSource)
	client, table := openGohbase(b), []byte(drivers.Prefix+namespace+"_batch.rows")
	for _, rows := range []int{2, 20} {
		loop := &batchLoop{client: client, table: table, rows: rows}
		bare := bareSides(loop.writing, loop.reading)
		Each(b, bare.Write, batches)
		b.Run(fmt.Sprintf("write/rows=%d", rows), func(b *testing.B) {
			inTurns(b, bare.Write, driverSide(b, st, s, "write", batchWriting(rows)))
		})
		b.Run(fmt.Sprintf("read/rows=%d", rows), func(b *testing.B) {
			inTurns(b, bare.Read, driverSide(b, st, s, "read", batchReading(rows)))
		})
	}
}

// batchKey is the key of row i of operation n.
func batchKey(n uint64, i int) string { return fmt.Sprintf("%08d-%02d", n*7919%batches, i) }

func batchWriting(rows int) func(drivers.Session, drivers.Statement) Op {
	return func(session drivers.Session, stmt drivers.Statement) Op {
		a, parts := drivers.Blob(make([]byte, 200)), make([]drivers.Call, rows)
		for i := range parts {
			parts[i].Args = []drivers.Value{{}, a, drivers.Bigint(1)}
		}
		return func(ctx context.Context, n uint64) error {
			for i := range parts {
				parts[i].Args[0] = drivers.Text(batchKey(n, i))
			}
			return session.Batch(ctx, stmt, parts)
		}
	}
}

func batchReading(rows int) func(drivers.Session, drivers.Statement) Op {
	return func(session drivers.Session, stmt drivers.Statement) Op {
		list, args, found := make([]drivers.Value, rows), make([]drivers.Value, 1), 0
		check := func(v []drivers.Value) error {
			found++
			return checkBatched(v[0].Raw())
		}
		return func(ctx context.Context, n uint64) error {
			for i := range list {
				list[i] = drivers.Text(batchKey(n, i))
			}
			args[0], found = drivers.ListOf(list), 0
			err := session.Read(ctx, stmt, args, check)
			if err == nil && found != rows {
				err = fmt.Errorf("%d rows were read; expected %d", found, rows)
			}
			return err
		}
	}
}

func checkBatched(a []byte) error {
	if len(a) != 200 {
		return fmt.Errorf("a value of %d bytes; expected 200", len(a))
	}
	return nil
}

// batchLoop is the loop that somebody who knows gohbase writes, with the driver's cells.
type batchLoop struct {
	client gohbase.Client
	table  []byte
	rows   int
}

func (l *batchLoop) writing() Op {
	cells := map[string]map[string][]byte{"m": {"\x00": {1}, "a": make([]byte, 200), "b": {7: 1}}}
	return func(ctx context.Context, n uint64) error {
		_, err := l.send(ctx, func(i int) (hrpc.Call, error) {
			return hrpc.NewPut(ctx, l.table, []byte(batchKey(n, i)), cells, hrpc.Durability(hrpc.SyncWal))
		})
		return err
	}
}

func (l *batchLoop) reading() Op {
	columns := hrpc.Families(map[string][]string{"m": {"\x00", "a"}})
	return func(ctx context.Context, n uint64) error {
		results, err := l.send(ctx, func(i int) (hrpc.Call, error) {
			return hrpc.NewGet(ctx, l.table, []byte(batchKey(n, i)), columns)
		})
		if err != nil {
			return err
		}
		for _, r := range results {
			got, ok := r.Msg.(*pb.GetResponse)
			if !ok || len(hrpc.ToLocalResult(got.Result).Cells) != 2 {
				return fmt.Errorf("a get came back with %v; expected two cells", r.Msg)
			}
			if err := checkBatched(hrpc.ToLocalResult(got.Result).Cells[1].Value); err != nil {
				return err
			}
		}
		return nil
	}
}

// send makes a call for each row and sends them together.
func (l *batchLoop) send(ctx context.Context, call func(i int) (hrpc.Call, error)) ([]hrpc.RPCResult, error) {
	calls := make([]hrpc.Call, l.rows)
	for i := range calls {
		var err error
		if calls[i], err = call(i); err != nil {
			return nil, err
		}
	}
	results, ok := l.client.SendBatch(ctx, calls)
	if ok {
		return results, nil
	}
	for _, r := range results {
		if r.Error != nil {
			return nil, r.Error
		}
	}
	return results, nil
}
