package hbase

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
)

func TestSettings(t *testing.T) {
	s, err := newSettings(drivers.Options{Contact: []string{"a", "b:1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"connect_timeout": "15s", "timeout": "10s", "zk_root": "/hbase", "user": "root", "pre_split": "1",
		"durability": "process", "wal": "sync_wal",
	}
	if got := s.effective(); !maps.Equal(got, want) || strings.Join(s.contact, " ") != "a:2181 b:1" {
		t.Errorf("contact %v, effective %v; expected %v", s.contact, got, want)
	}
	s, err = newSettings(drivers.Options{
		Durability: drivers.Power,
		Settings:   map[string]string{"timeout": "1m", "pre_split": "8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]string{
		"connect_timeout": "15s", "timeout": "1m0s", "zk_root": "/hbase", "user": "root", "pre_split": "8",
		"durability": "power", "wal": "fsync_wal",
	}
	if got := s.effective(); !maps.Equal(got, want) {
		t.Errorf("effective %v; expected %v", got, want)
	}
	for setting, wrong := range map[string][]string{
		"timeout": {"5", "-1s", "0s"}, "pre_split": {"0", "x", "1001"}, "zk_root": {"hbase"}, "user": {""}, "batching": {"off"},
	} {
		for _, value := range wrong {
			_, err := newSettings(drivers.Options{Settings: map[string]string{setting: value}})
			if err == nil || !strings.Contains(err.Error(), setting) {
				t.Errorf("setting %s: %q: %v", setting, value, err)
			}
		}
	}
	if _, err := newSettings(drivers.Options{Durability: drivers.Quorum}); err == nil || !strings.Contains(err.Error(), "quorum") {
		t.Errorf("durability quorum: %v", err)
	}
}

// TestUnreachable opens an address without a server, and a server that does not answer, within the
// connect timeout.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, addr := range []string{silent.Addr().String(), gone.Addr().String()} {
		start := time.Now()
		_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{addr}, Settings: map[string]string{"connect_timeout": "200ms"}})
		if !errors.Is(err, drivers.ErrUnreachable) || !strings.Contains(err.Error(), addr) {
			t.Errorf("open %s: %v", addr, err)
		}
		if addr == silent.Addr().String() && !strings.Contains(err.Error(), "no master of HBase is registered in it at /hbase (setting zk_root)") {
			t.Errorf("open %s: %v, expected what may be wrong", addr, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("open %s took %s", addr, took)
		}
	}
	if _, err := Engine().Open(t.Context(), drivers.Options{Namespace: "Not-One"}); err == nil || errors.Is(err, drivers.ErrUnreachable) {
		t.Errorf("a namespace that cannot be one: %v", err)
	}
}

// TestUser: HBase gets the name of the setting user with each connection, to the master and to
// region servers, also for requests of their administration.
func TestUser(t *testing.T) {
	const name = "somebodyelse"
	st := openLive(t, newNamespace(), map[string]string{"user": name})
	var mu sync.Mutex
	named := make(map[string]bool) // a connection's service → it has the name
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return writes{conn, func(b []byte) {
			mu.Lock()
			defer mu.Unlock()
			for _, service := range []string{"ClientService", "MasterService"} {
				if bytes.Contains(b, []byte(service)) {
					named[service] = bytes.Contains(b, []byte(name))
				}
			}
		}}, err
	}
	options := append(st.clientOptions(func(error) {}), gohbase.RegionDialer(dial))
	client := gohbase.NewClient(st.contact[0], options...)
	defer client.Close()
	get, err := hrpc.NewGetStr(t.Context(), "hbase:meta", "x")
	if err == nil {
		_, err = client.Get(get)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gohbase.NewAdminClient(st.contact[0], options...).ClusterStatus(); err != nil {
		t.Fatal(err)
	}
	if !named["ClientService"] || !named["MasterService"] {
		t.Errorf("connections with the name: %v; expected that to the master and that to the region server", named)
	}
	s := parse(t, tiesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := st.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	servers, _, err := st.servers(t.Context())
	if err != nil || len(servers) == 0 || servers[0].user != name {
		t.Errorf("region servers %v, %v; expected the user %s", servers, err, name)
	}
}

// writes is a connection that shows what is written to it.
type writes struct {
	net.Conn
	see func([]byte)
}

func (w writes) Write(b []byte) (int, error) {
	w.see(b)
	return w.Conn.Write(b)
}
