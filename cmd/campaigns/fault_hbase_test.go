//go:build campaigns && unix

package campaigns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestHBaseRegionServerDies kills one of two region servers while workday runs.
// Its regions are out of reach until ZooKeeper misses it (6 s here), the other server
// has replayed its log, and gohbase, whose pauses double, tries again. A call has less
// time than that: it fails.
func TestHBaseRegionServerDies(t *testing.T) {
	models := faultModels(t, "james,elasticinbox")
	in := live.HBase2(t)
	t.Parallel()
	f := fault{
		cluster: in, engine: "hbase",
		// Cut in six, tables have the first user's rows in a region of their own,
		// and the next region is the other server's.
		settings: []string{"pre_split=6", "timeout=5s"},
		measure:  30 * time.Second, // twice as long as it takes on two busy processors
		kill:     func(vs []*victim) outage { return killRegionServer(t, in, vs[0]) },
		remove:   map[string]func(*victim, int64){"james": func(v *victim, n int64) { removeRows(t, in, v.messageTable(), n) }},
	}
	f.strike(t, models)
	bringBack(t, in, "hbase", "HRegionServer: Serving as localhost,PORT,", "--regionservers", "2")
}

// messageTables is where the models' messages lie.
var messageTables = map[string]string{
	"james": "JAMES_MESSAGES", "elasticinbox": "MessageMetadata", "datastax": "emails_by_user_folder", "oracle": "users", "conversation": "messages",
}

func (v *victim) messageTable() string {
	return "mailbench_" + v.namespace() + "_" + v.model + "." + messageTables[v.model]
}

// killRegionServer kills the region server that serves the first of the run's
// messages, and waits until another does.
func killRegionServer(t *testing.T, in *launch.Instance, v *victim) outage {
	t.Helper()
	table := v.messageTable()
	row := firstRows(t, plainHBase(t, in), table, 1)[0]
	server, err := regionServer(t, in, table, row)
	if err != nil || server == "" {
		t.Fatalf("region server of %s: %q, %v", table, server, err)
	}
	o := outage{began: time.Now(), gap: 3 * time.Second}
	kill9(t, in, server)
	v.await("the region's move", func() bool {
		by, err := regionServer(t, in, table, row) // an error, while hbase:meta moves too
		return err == nil && by != "" && by != server
	})
	o.ended = time.Now()
	return o
}

func plainHBase(t *testing.T, in *launch.Instance) gohbase.Client {
	t.Helper()
	c := gohbase.NewClient(in.Contact()[0], gohbase.RpcQueueSize(1), gohbase.Logger(slog.New(slog.DiscardHandler)))
	t.Cleanup(c.Close)
	return c
}

// regionServer is the node that serves a row, after what the cluster itself says;
// "" if none does.
func regionServer(t *testing.T, in *launch.Instance, table string, row []byte) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	// Rows of hbase:meta are TABLE,START,ID in the order of TABLE, then of START.
	scan, err := hrpc.NewScanRange(ctx, []byte("hbase:meta"), []byte(table+",,"), []byte(table+"\x00,,"), hrpc.Families(map[string][]string{"info": {"server"}}))
	if err != nil {
		t.Fatal(err)
	}
	client := gohbase.NewClient(in.Contact()[0], gohbase.RpcQueueSize(1), gohbase.Logger(slog.New(slog.DiscardHandler)))
	defer client.Close()
	regions, server := client.Scan(scan), ""
	defer regions.Close()
	for {
		r, err := regions.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("regions of %s: %w", table, err)
		}
		key := bytes.TrimPrefix(r.Cells[0].Row, []byte(table+","))
		if start := key[:bytes.LastIndexByte(key, ',')]; bytes.Compare(start, row) <= 0 {
			server = string(r.Cells[0].Value)
		}
	}
	if server == "" {
		return "", nil
	}
	_, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatalf("server of %s: %v", table, err)
	}
	for _, n := range in.Nodes() {
		if _, p, err := net.SplitHostPort(n.Address); err == nil && p == port {
			return n.Name, nil
		}
	}
	t.Fatalf("%s serves %s and is no node of %v", server, table, in.Nodes())
	return "", nil
}

// firstRows are the keys of the first rows of a table.
func firstRows(t *testing.T, client gohbase.Client, table string, n int64) [][]byte {
	t.Helper()
	scan, err := hrpc.NewScanStr(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	scanner := client.Scan(scan)
	defer scanner.Close()
	for int64(len(keys)) < n {
		r, err := scanner.Next()
		if err != nil {
			t.Fatalf("table %s has %d rows, want %d: %v", table, len(keys), n, err)
		}
		keys = append(keys, r.Cells[0].Row)
	}
	return keys
}

// removeRows takes so many rows out of a table.
func removeRows(t *testing.T, in *launch.Instance, table string, n int64) {
	t.Helper()
	client := plainHBase(t, in)
	for _, key := range firstRows(t, client, table, n) {
		del, err := hrpc.NewDel(t.Context(), []byte(table), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Delete(del); err != nil {
			t.Fatal(err)
		}
	}
}
