package paired

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestHBase shows that a bare gohbase loop and the driver read what the other
// wrote.
func TestHBase(t *testing.T) {
	bare, driver := openHBase(t)
	agree(t, bare, driver)
}

// BenchmarkHBase measures what the driver costs over a bare gohbase loop:
//
//	MAILBENCH_PAIRS=15 go test -run '^$' -bench HBase -benchtime 10s -timeout 3h ./drivers/drivertest/paired
func BenchmarkHBase(b *testing.B) {
	bare, driver := openHBase(b)
	compare(b, bare, driver)
}

// openHBase returns both loops, over one table and the same cells.
func openHBase(t testing.TB) (bare, driver Sides) {
	t.Helper()
	st, namespace := onServer(t, hbase.Engine())
	loop := &gohbaseLoop{client: openGohbase(t), table: []byte(drivers.Prefix + namespace + "_paired.messages"), family: "m"}
	return bareSides(loop.writing, loop.reading), Driver(t, st)
}

// openGohbase opens a client that sends each call immediately.
func openGohbase(t testing.TB) gohbase.Client {
	t.Helper()
	client := gohbase.NewClient(live.Contact(t, "hbase"), gohbase.RpcQueueSize(1), gohbase.Logger(slog.New(slog.DiscardHandler)))
	t.Cleanup(client.Close)
	return client
}

// gohbaseLoop is the loop that somebody who knows gohbase writes: nothing batched, as the driver
// does by default, and the durability that is the driver's. The cell "\x00" is the driver's mark of
// a row that exists.
type gohbaseLoop struct {
	client gohbase.Client
	table  []byte
	family string
}

// rowKey appends mailbox and id, newest first.
func rowKey(dst []byte, row *Row) ([]byte, error) {
	dst = keys.Append(dst, drivers.TextBytes(row.Mailbox), false)
	return keys.Append(dst, drivers.TimeUUID(row.ID), true), nil
}

func (l *gohbaseLoop) writing() Op {
	var (
		row        = NewRow()
		key        []byte
		date, size [8]byte
		seen       [1]byte
	)
	return func(ctx context.Context, n uint64) (err error) {
		row.Turn(n)
		if key, err = rowKey(key[:0], row); err != nil {
			return err
		}
		binary.BigEndian.PutUint64(date[:], uint64(row.Date.UnixMicro()))
		binary.BigEndian.PutUint64(size[:], uint64(row.Size))
		seen[0] = 0
		if row.Seen {
			seen[0] = 0xff
		}
		put, err := hrpc.NewPut(ctx, l.table, key, map[string]map[string][]byte{l.family: {
			"\x00": {1}, "from": []byte(row.From), "subject": []byte(row.Subject),
			"date": date[:], "size": size[:], "seen": seen[:], "body": row.Body,
		}}, hrpc.Durability(hrpc.SyncWal))
		if err != nil {
			return err
		}
		_, err = l.client.Put(put)
		return err
	}
}

func (l *gohbaseLoop) reading() Op {
	var (
		row     = NewRow()
		columns = hrpc.Families(map[string][]string{l.family: {"from", "subject", "date", "size", "seen", "body"}})
		key     []byte
	)
	return func(ctx context.Context, n uint64) (err error) {
		row.Turn(n)
		if key, err = rowKey(key[:0], row); err != nil {
			return err
		}
		get, err := hrpc.NewGet(ctx, l.table, key, columns)
		if err != nil {
			return err
		}
		result, err := l.client.Get(get)
		if err != nil {
			return err
		}
		return checkCells(row, result)
	}
}

// checkCells decodes a row as it was written, and checks it.
func checkCells(row *Row, r *hrpc.Result) error {
	var (
		from, subject, body []byte
		date                time.Time
		size                int64
		seen                bool
	)
	for _, c := range r.Cells {
		switch string(c.Qualifier) {
		case "from":
			from = c.Value
		case "subject":
			subject = c.Value
		case "date":
			date = time.UnixMicro(int64(binary.BigEndian.Uint64(c.Value)))
		case "size":
			size = int64(binary.BigEndian.Uint64(c.Value))
		case "seen":
			seen = c.Value[0] != 0
		case "body":
			body = c.Value
		default:
			return fmt.Errorf("a column %q that nobody asked for", c.Qualifier)
		}
	}
	return row.Check(from, subject, date, size, seen, body)
}
