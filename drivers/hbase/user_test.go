package hbase

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

// TestUserInLog: HBase knows the client by the name that the setting user gives. Its master writes into
// its log who makes a table.
func TestUserInLog(t *testing.T) {
	in := live.HBase2(t)
	namespace := "m" + strings.ToLower(rand.Text()[:10])
	for _, user := range []string{"ann", "bob"} {
		st := drivertest.OpenLive(t, Engine(), drivers.Options{
			Contact: in.Contact(), Namespace: namespace + user, Settings: map[string]string{"user": user},
		})
		s, err := schemas.Parse("who.yaml", []byte(`
schema: 1
name: who
tables:
  rows: {partition: [p text], columns: {v: text}}
patterns:
  put: {put: rows}
`))
		if err == nil {
			err = st.Apply(t.Context(), s)
		}
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		if err := in.Log(t.Context(), &log, "master", 0, false); err != nil {
			t.Fatal(err)
		}
		want := "Client=" + user + "//127.0.0.1 create 'mailbench_" + namespace + user + "_who.rows'"
		if !bytes.Contains(log.Bytes(), []byte(want)) {
			t.Errorf("the master's log has no %q", want)
		}
	}
}
