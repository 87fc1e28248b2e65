package paired

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/oraclenosql"
)

// TestOracleNoSQL shows that a bare loop on Oracle's SDK and the driver read what the other wrote.
func TestOracleNoSQL(t *testing.T) {
	bare, driver := openOracle(t)
	agree(t, bare, driver)
}

// BenchmarkOracleNoSQL measures what the driver costs over a bare loop on the SDK:
//
//	MAILBENCH_PAIRS=15 go test -run '^$' -bench OracleNoSQL -benchtime 10s -timeout 3h ./drivers/drivertest/paired
func BenchmarkOracleNoSQL(b *testing.B) {
	bare, driver := openOracle(b)
	compare(b, bare, driver)
}

// openOracle returns both loops, over one table.
func openOracle(t testing.TB) (bare, driver Sides) {
	t.Helper()
	st, namespace := onServer(t, oraclenosql.Engine())
	client, err := nosqldb.NewClient(nosqldb.Config{
		Mode: "onprem", Endpoint: "http://" + live.Contact(t, "oraclenosql"),
		RequestConfig: nosqldb.RequestConfig{Consistency: types.Absolute},
		LoggingConfig: nosqldb.LoggingConfig{DisableLogging: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	loop := &oracleLoop{client, drivers.Prefix + namespace + "_paired:messages"}
	return bareSides(loop.writing, loop.reading), Driver(t, st)
}

// oracleLoop is the loop that somebody who knows the SDK writes: one client for all goroutines, a
// Put or a Get of the whole row each, and the driver's consistency and durability.
type oracleLoop struct {
	*nosqldb.Client
	table string
}

// oracleID is the id of a row as the driver keeps it: digits that sort by time. All but the first
// four bytes of an id are the same in each row.
func oracleID(row *Row) string {
	return "0000000" + hex.EncodeToString(row.ID[:4]) + "10080818080808080"
}

func (l *oracleLoop) writing() Op {
	row := NewRow()
	durability := types.Durability{
		MasterSync: types.SyncPolicyNoSync, ReplicaSync: types.SyncPolicyNoSync, ReplicaAck: types.ReplicaAckPolicySimpleMajority,
	}
	return func(_ context.Context, n uint64) error {
		row.Turn(n)
		r, err := l.Put(&nosqldb.PutRequest{
			TableName: l.table, ExactMatch: true, Durability: durability,
			Value: types.NewMapValue(map[string]any{
				"mailbox": string(row.Mailbox), "id": oracleID(row), "from": row.From, "subject": row.Subject,
				"date": row.Date, "size": row.Size, "seen": row.Seen, "body": row.Body,
			}),
		})
		if err == nil && !r.Success() {
			err = errors.New("a row was not put")
		}
		return err
	}
}

func (l *oracleLoop) reading() Op {
	row := NewRow()
	return func(_ context.Context, n uint64) error {
		row.Turn(n)
		r, err := l.Get(&nosqldb.GetRequest{
			TableName: l.table,
			Key:       types.NewMapValue(map[string]any{"mailbox": string(row.Mailbox), "id": oracleID(row)}),
		})
		if err != nil {
			return err
		}
		if !r.RowExists() {
			return errors.New("no row")
		}
		m := r.Value.Map()
		from, _ := m["from"].(string)
		subject, _ := m["subject"].(string)
		date, _ := m["date"].(time.Time)
		size, _ := m["size"].(int64)
		seen, _ := m["seen"].(bool)
		body, _ := m["body"].([]byte)
		return row.Check([]byte(from), []byte(subject), date, size, seen, body)
	}
}
