package hbase

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest/paired"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestPaired shows that a bare gohbase loop and the driver read what the other
// wrote.
func TestPaired(t *testing.T) {
	bare, driver := openPaired(t)
	paired.Test(t, bare, driver)
}

// BenchmarkPaired measures what the driver costs over a bare gohbase loop:
//
//	MAILBENCH_PAIRS=15 go test -run '^$' -bench Paired -benchtime 10s -timeout 3h ./drivers/hbase
func BenchmarkPaired(b *testing.B) {
	bare, driver := openPaired(b)
	paired.Each(b, bare.Write, paired.Rows)
	b.Run("write", func(b *testing.B) { paired.Benchmark(b, bare.Write, driver.Write) })
	b.Run("read", func(b *testing.B) { paired.Benchmark(b, bare.Read, driver.Read) })
}

// openPaired returns both loops, over one table and the same cells.
func openPaired(t testing.TB) (bare, driver paired.Sides) {
	t.Helper()
	st := openLive(t, strings.ToLower(rand.Text()[:16]), nil)
	s, err := paired.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	_, place, err := st.tables.Find(s.Patterns[0])
	if err != nil {
		t.Fatal(err)
	}
	client := gohbase.NewClient(live.Contact(t, "hbase"), gohbase.RpcQueueSize(1), gohbase.Logger(quiet))
	t.Cleanup(client.Close)
	loop := &bareLoop{client: client, table: place.hbase, family: place.family}
	return paired.Sides{
		Write: paired.Side{Name: "bare", Client: func() (paired.Op, error) { return loop.writing(), nil }},
		Read:  paired.Side{Name: "bare", Client: func() (paired.Op, error) { return loop.reading(), nil }},
	}, paired.Driver(t, st, s)
}

// bareLoop is the loop that somebody who knows gohbase writes: nothing batched,
// as the driver does by default, and the durability that is the driver's.
type bareLoop struct {
	client gohbase.Client
	table  []byte
	family string
}

// rowKey appends mailbox and id, newest first.
func rowKey(dst []byte, row *paired.Row) ([]byte, error) {
	dst, err := keys.Append(dst, drivers.TextBytes(row.Mailbox), false)
	if err != nil {
		return dst, err
	}
	return keys.Append(dst, drivers.TimeUUID(row.ID), true)
}

func (l *bareLoop) writing() paired.Op {
	var (
		row        = paired.NewRow()
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
			markerName: []byte(marker), "from": []byte(row.From), "subject": []byte(row.Subject),
			"date": date[:], "size": size[:], "seen": seen[:], "body": row.Body,
		}}, hrpc.Durability(hrpc.SyncWal))
		if err != nil {
			return err
		}
		_, err = l.client.Put(put)
		return err
	}
}

func (l *bareLoop) reading() paired.Op {
	var (
		row     = paired.NewRow()
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
func checkCells(row *paired.Row, r *hrpc.Result) error {
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
