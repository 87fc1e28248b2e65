package cmd

import (
	"testing"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestDamageLiveOracleNoSQL: Oracle keeps a timeuuid of a key as text, so a key may be none. It takes
// UTF-8 only.
func TestDamageLiveOracleNoSQL(t *testing.T) {
	contact := live.Contact(t, "oraclenosql")
	m := loadElasticInbox(t, "oraclenosql")
	client, err := nosqldb.NewClient(nosqldb.Config{
		Mode: "onprem", Endpoint: "http://" + contact,
		LoggingConfig: nosqldb.LoggingConfig{DisableLogging: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	first := func(table string, fits func(*types.MapValue) bool) *types.MapValue {
		t.Helper()
		ask := &nosqldb.QueryRequest{Statement: "SELECT * FROM " + m.keyspace + ":" + table, Timeout: time.Minute}
		for done := false; !done; done = ask.IsDone() {
			answer, err := client.Query(ask)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := answer.GetResults()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if fits(row) {
					return row
				}
			}
		}
		t.Fatalf("no row of %s fits", table)
		return nil
	}
	put := func(table string, row *types.MapValue) {
		t.Helper()
		if _, err := client.Put(&nosqldb.PutRequest{TableName: m.keyspace + ":" + table, Value: row, Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	text := func(row *types.MapValue, column string) string {
		s, _ := row.GetString(column)
		return s
	}
	bytes := func(row *types.MapValue, column string) []byte {
		v, _ := row.Get(column)
		b, _ := v.([]byte)
		return b
	}
	all := damages()
	m.after(t, all[0].name, all[0].want, func() {
		row := first("MessageBlob", func(r *types.MapValue) bool { n, _ := r.GetInt("block"); return n == 0 })
		bytes(row, "data")[0] ^= 1
		put("MessageBlob", row)
	})
	m.after(t, all[1].name, []string{"MessageMetadata.columns: count size: 1 row", "sub-column size of message "}, func() {
		row := first("MessageMetadata.columns", func(r *types.MapValue) bool { return text(r, "name") == "size" })
		put("MessageMetadata.columns", row.Put("value", []byte{0xff, 0xff}))
	})
	entry := first("IndexLabels", func(r *types.MapValue) bool { return text(r, "key")[len(text(r, "key"))-2:] == ":1" })
	key, id := text(entry, "key"), text(entry, "id")
	m.after(t, all[3].name, all[3].want, func() { put("IndexLabels", entry.Put("id", id[:len(id)-3])) })
	m.after(t, all[4].name, all[4].want, func() {
		put("IndexLabels", entry.Put("id", id).Put("key", key[:len(key)-1]+"2"))
	})
}
