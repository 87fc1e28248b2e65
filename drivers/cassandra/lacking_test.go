package cassandra

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// poor passes frames between clients and a Cassandra, and renames in them the features that other
// clusters do not have, so that the node does not know them. Its answer about views imitates that of
// ScyllaDB about keyspaces with tablets. Both words of a pair are equally long.
type poor struct {
	withoutTablets atomic.Int64 // statements that set no tablets
}

const noTablets = " AND tablets = {'enabled': false}"

var inRequests, inAnswers = [][2]string{
	{"system_views", "system_viewz"},
	{`"IndexInfo"`, `"IndexInfa"`},
	{"'scylla_keyspaces'", "'views'           "},
	{noTablets, strings.Repeat(" ", len(noTablets))},
	{"WRITETIME(durable_writes)", "WRITETIME(durable_writez)"},
}, [][2]string{
	{"allow_auto_snapshot", "allow_auto_snapshos"},
	{"base_table_name", "initial_tablets"},
}

// listen listens on a free port for clients of the node.
func (p *poor) listen(t *testing.T, node string) (at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", node)
			if err != nil {
				client.Close()
				continue
			}
			go p.pass(server, client, inRequests)
			go p.pass(client, server, inAnswers)
		}
	}()
	return l.Addr().String()
}

// pass passes frames on: a header of 9 bytes that ends with the body's length, and the body.
func (p *poor) pass(to, from net.Conn, words [][2]string) {
	defer to.Close()
	for header := make([]byte, 9); ; {
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[5:]))
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if bytes.Contains(body, []byte(noTablets)) {
			p.withoutTablets.Add(1)
		}
		for _, w := range words {
			body = bytes.ReplaceAll(body, []byte(w[0]), []byte(w[1]))
		}
		if _, err := to.Write(append(header, body...)); err != nil {
			return
		}
	}
}

// TestLacking: a cluster without system_views, the view of built indexes and options of Cassandra
// 5.0, and with tablets, is used all the same. Facts that it does not report are unknown.
func TestLacking(t *testing.T) {
	node, p := live.Contact(t, "cassandra"), new(poor)
	at := p.listen(t, node)
	st := drivertest.OpenLive(t, Engine(), drivers.Options{
		Contact: []string{at}, Namespace: newNamespace(), Settings: map[string]string{"addresses": node + "=" + at},
	}).(*Store)
	if st.known.ThrowAway || !st.known.Tablets {
		t.Errorf("the cluster has options for what is thrown away: %v, tablets: %v; want tablets only", st.known.ThrowAway, st.known.Tablets)
	}
	r := run(t, st, schemaOf(t, "flags", flagsBody))
	if n := p.withoutTablets.Load(); n != 1 {
		t.Errorf("%d statements asked for no tablets, want that of the keyspace", n)
	}
	if !r.write("create", drivers.Text("p"), drivers.Int(1), drivers.Bigint(7), drivers.Boolean(false)) {
		t.Errorf("a conditional write of a new row was refused")
	}
	if c, err := st.Compare(t.Context(), r.schema); err != nil || len(c.Drifts) > 0 {
		t.Errorf("differences %+v, %v", c, err)
	}
	if err := st.Settle(t.Context()); !errors.Is(err, drivers.ErrUnreported) {
		t.Errorf("settle: %v, want ErrUntold", err)
	}
	o := st.Observe()
	if o.DiskBytes != -1 || o.CacheBytes != -1 || o.CompactionDebt != -1 || o.TombstonesRead != 0 || o.Settings["tablets"] != "off" {
		t.Errorf("observed %+v", o)
	}
	if got := st.Capabilities().Durability; got != drivers.DurabilityUnknown || st.Left() == "" {
		t.Errorf("durability %s, left %q; want it unknown, and a snapshot", got, st.Left())
	}
	all, err := drivers.Namespaces(t.Context(), st)
	if err != nil || len(all) == 0 {
		t.Errorf("namespaces %+v, %v", all, err)
	}
	drivertest.RunShared(t, st, "indexes", "counters", "batches")
}
