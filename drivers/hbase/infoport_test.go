package hbase

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestInfoPort: the log and the collector of a region server come from its info port, or the reason
// why they do not.
func TestInfoPort(t *testing.T) {
	const conf = `{"properties":[{"key":"hbase.wal.provider","value":"asyncfs","isFinal":false},
		{"key":"hbase.wal.hsync","value":"true"}]}`
	bean := func(names ...string) string { // as Java 17's JMX writes them
		var all []string
		for _, n := range names {
			all = append(all, fmt.Sprintf(`{"name":"java.lang:name=%s,type=GarbageCollector","Name":%q}`, n, n))
		}
		return `{"beans":[` + strings.Join(all, ",") + `]}`
	}
	jmx := bean("ZGC Cycles", "ZGC Pauses")
	for name, c := range map[string]struct {
		conf, jmx string
		wal, gc   string
	}{
		"told":       {conf, jmx, "asyncfs, hsync", "Z"},
		"G1":         {conf, bean("G1 Young Generation", "G1 Old Generation"), "asyncfs, hsync", "G1"},
		"Serial":     {conf, bean("Copy", "MarkSweepCompact"), "asyncfs, hsync", "Serial"},
		"unheard of": {conf, bean("C4"), "asyncfs, hsync", "C4"},
		"no GC":      {conf, bean(), "asyncfs, hsync", notReported + ": its JMX has no collector"},
		"a login":    {"", "", notReported + ": its info port answers 401", notReported + ": its info port answers 401"},
		"a page": {
			"<html>", "<html>", notReported + ": its info port answers no JSON", notReported + ": its info port answers no JSON",
		},
		"no provider": {`{"properties":[]}`, jmx, notReported + ": its configuration has no hbase.wal.provider", "Z"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := map[string]string{
				"/conf?format=json": c.conf, "/jmx?qry=java.lang:type=GarbageCollector,name=*": c.jmx,
			}[r.URL.String()]
			if body == "" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			if _, err := w.Write([]byte(body)); err != nil {
				t.Error(err)
			}
		}))
		at, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.ParseUint(at.Port(), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		if wal, gc := serverSettings(t.Context(), at.Hostname(), uint32(port)); wal != c.wal || gc != c.gc {
			t.Errorf("%s: the log is %q and the collector %q, want %q and %q", name, wal, gc, c.wal, c.gc)
		}
		s.Close()
		wal, _ := serverSettings(t.Context(), at.Hostname(), uint32(port))
		if want := notReported + ": its info port does not answer"; wal != want {
			t.Errorf("%s: of a closed port the log is %q, want %q", name, wal, want)
		}
	}
	for _, off := range []uint32{0, 1<<32 - 1} {
		if wal, gc := serverSettings(t.Context(), "127.0.0.1", off); wal != gc || wal != notReported+": the info port is off" {
			t.Errorf("port %d: %q and %q", off, wal, gc)
		}
	}
}
