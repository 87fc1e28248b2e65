package hbase

import (
	"errors"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

func TestSettings(t *testing.T) {
	s, err := newSettings(drivers.Options{Contact: []string{"a", "b:1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"batching": "off", "connect_timeout": "5s", "timeout": "10s", "zk_root": "/hbase", "pre_split": "1",
		"durability": "process", "wal": "sync_wal",
	}
	if got := s.effective(); !maps.Equal(got, want) || strings.Join(s.contact, " ") != "a:2181 b:1" {
		t.Errorf("contact %v, effective %v; expected %v", s.contact, got, want)
	}
	s, err = newSettings(drivers.Options{
		Durability: drivers.Power,
		Settings:   map[string]string{"batching": "50/5ms", "timeout": "1m", "pre_split": "8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]string{
		"batching": "50/5ms", "connect_timeout": "5s", "timeout": "1m0s", "zk_root": "/hbase", "pre_split": "8",
		"durability": "power", "wal": "fsync_wal",
	}
	if got := s.effective(); !maps.Equal(got, want) {
		t.Errorf("effective %v; expected %v", got, want)
	}
	for setting, wrong := range map[string][]string{
		"batching": {"on", "50", "1/5ms", "50/0s", "x/5ms"}, "timeout": {"5", "-1s", "0s"}, "pre_split": {"0", "x", "1001"},
		"zk_root": {"hbase"}, "batch": {"off"},
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

// TestUnreachable opens what is not there, and what does not answer, within the
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
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("open %s took %s", addr, took)
		}
	}
	if _, err := Engine().Open(t.Context(), drivers.Options{Namespace: "Not-One"}); err == nil || errors.Is(err, drivers.ErrUnreachable) {
		t.Errorf("a namespace that cannot be one: %v", err)
	}
}
