package hbase

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestInfoPort: the log of a region server comes from its info port, or the reason why it does not.
func TestInfoPort(t *testing.T) {
	const conf = `{"properties":[{"key":"hbase.wal.provider","value":"asyncfs","isFinal":false},
		{"key":"hbase.wal.hsync","value":"true"}]}`
	for name, c := range map[string]struct{ conf, wal, why string }{
		"told":        {conf, "asyncfs, hsync", ""},
		"no provider": {`{"properties":[]}`, "not reported", ""},
		"a login":     {"", "", "its info port answers 401 Unauthorized"},
		"a page":      {"<html>", "", "its info port: invalid character"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.conf == "" || r.URL.String() != "/conf?format=json" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			if _, err := w.Write([]byte(c.conf)); err != nil {
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
		wal, err := serverLog(at.Hostname(), uint32(port))
		if wal != c.wal || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: the log is %q, %v; want %q, %q", name, wal, err, c.wal, c.why)
		}
		s.Close()
		if wal, err := serverLog(at.Hostname(), uint32(port)); wal != "" || err == nil {
			t.Errorf("%s: of a closed port the log is %q", name, wal)
		}
	}
	for _, off := range []uint32{0, 1<<32 - 1} {
		if wal, err := serverLog("127.0.0.1", off); wal != "" || err == nil {
			t.Errorf("port %d: %q", off, wal)
		}
	}
}
