package cassandra

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Parts of results.
const (
	rowsResult, preparedResult = "\x00\x00\x00\x02", "\x00\x00\x00\x04" + "\x00\x01i"
	oneColumn, noColumn        = "\x00\x00\x00\x01\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00\x00"
	columnName                 = "\x00\x01k\x00\x01t\x00\x01c"
	typeBlob, noRow            = "\x00\x03", "\x00\x00\x00\x00"
)

func nested(id string, levels int) string { return strings.Repeat(id, levels) + typeBlob }

func blob(b string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b }

// TestMetadata: metadata with types nested too deep is an error wherever the types are.
func TestMetadata(t *testing.T) {
	lists := nested("\x00\x20", 101)
	begin := rowsResult + oneColumn + columnName
	for name, c := range map[string]struct {
		flags byte
		body  string
		want  string // error; "" is none
	}{
		"sets":                     {0, begin + nested("\x00\x22", 101), "nested"},
		"maps":                     {0, begin + nested("\x00\x21"+typeBlob, 101), "nested"},
		"keys of maps":             {0, begin + nested("\x00\x21", 101), "nested"},
		"tuples":                   {0, begin + nested("\x00\x31\x00\x01", 101), "nested"},
		"wide tuples":              {0, begin + nested("\x00\x31\xff\xff", 101), "nested"},
		"user types":               {0, begin + nested("\x00\x30\x00\x01k\x00\x01u\x00\x01\x00\x01f", 101), "nested"},
		"lists by name":            {0, begin + nested("\x00\x00"+short("org.apache.cassandra.db.marshal.ListType"), 101), "nested"},
		"tuples by name":           {0, begin + nested("\x00\x00"+short("TupleType")+"\x00\x01", 101), "nested"},
		"after a custom type":      {0, rowsResult + "\x00\x00\x00\x00\x00\x00\x00\x02" + columnName + "\x00\x00" + short("d") + columnName + lists, "nested"},
		"of one table":             {0, rowsResult + "\x00\x00\x00\x01\x00\x00\x00\x01" + columnName + lists, "nested"},
		"after a state of paging":  {0, rowsResult + "\x00\x00\x00\x03\x00\x00\x00\x01" + blob("xx") + columnName + lists, "nested"},
		"after a warning":          {8, "\x00\x01" + short("hm") + begin + lists, "nested"},
		"after trace and payload":  {6, "0123456789abcdef\x00\x01" + short("a") + blob("xx") + begin + lists, "nested"},
		"after 200 KB":             {8, "\x00\x03" + strings.Repeat(short(strings.Repeat("w", 65535)), 3) + begin + lists, "nested"},
		"arguments":                {0, preparedResult + oneColumn + "\x00\x00\x00\x01\x00\x00" + columnName + lists, "nested"},
		"rows of a prepared one":   {0, preparedResult + noColumn + noRow + oneColumn + columnName + lists, "nested"},
		"a negative key":           {0, preparedResult + oneColumn + "\xff\xff\xff\xff", "key of -1 columns"},
		"a large key":              {0, preparedResult + oneColumn + "\x7f\xff\xff\xff", "key of 2147483647 columns"},
		"100 levels":               {0, begin + nested("\x00\x20", 100) + noRow, ""},
		"no names of columns":      {0, rowsResult + "\x00\x00\x00\x04\x7f\xff\xff\xff" + noRow + strings.Repeat("\x00\x20", 1000), ""},
		"many columns, one exists": {0, rowsResult + "\x00\x00\x00\x01\x7f\xff\xff\xff" + columnName + typeBlob, ""},
		"nothing":                  {0, "", ""},
	} {
		m := metadata{rest: []byte(c.body)}
		if _, err := m.result(c.flags); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		for n := range min(len(c.body), 2000) { // a frame that has not come whole
			m := metadata{rest: []byte(c.body[:n])}
			if _, err := m.result(c.flags); err == nil && !m.short && c.want != "" {
				t.Errorf("%s: the first %d bytes are complete", name, n)
			}
		}
	}
}

// TestRowsCheck: a value that is the text of a deep type is an error. No other value is.
func TestRowsCheck(t *testing.T) {
	deep := strings.Repeat("map<int, ", 1000)
	for name, c := range map[string]struct {
		value string
		want  error
	}{
		"maps":          {deep, errNested},
		"frozen lists":  {strings.Repeat("frozen<list<", 1000), errNested},
		"classes":       {strings.Repeat("org.apache.cassandra.db.marshal.ListType(", 1000), errNested},
		"short":         {deep[:8000], nil},
		"closed":        {strings.Repeat("list<int>, ", 1000), nil},
		"mail":          {"<" + deep, nil},
		"60 levels":     {strings.Repeat("set<", 60) + strings.Repeat("x", 10000), nil},
		"less than set": {strings.Repeat("se", 5000), nil},
	} {
		all := []byte(strings.Repeat("\xff\xff\xff\xff"+blob("")+blob(c.value), 3) + strings.Repeat(blob("list<"), 1000))
		m := metadata{rest: all}
		if err := m.checkValues(9); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestNestedTypes: a node whose types are nested deep is an error of the request, whatever the connection. gocql's
// recursion would end the process.
func TestNestedTypes(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	bytesOf := strings.Repeat("list<a mail>", 1000) // 12 KB
	for name, c := range map[string]struct {
		bound    bool // the response is that of preparing a statement with an argument
		response func(levels int) string
		deep     int
	}{
		"rows": {false, func(n int) string { return rowsResult + oneColumn + columnName + nested("\x00\x20", n) + noRow }, 3_000_000},
		"arguments": {true, func(n int) string {
			return preparedResult + oneColumn + noRow + columnName + nested("\x00\x21"+typeBlob, n) + oneColumn + columnName + typeBlob
		}, 1_000_000},
		"text": {false, func(n int) string {
			return rowsResult + oneColumn + columnName + typeBlob + "\x00\x00\x00\x02" + blob(bytesOf) + blob(strings.Repeat("list<", n))
		}, 1_000_000},
	} {
		for _, set := range []map[string]string{
			{}, {"compression": "snappy"}, {"tls": "true", "tls_ca": authority}, {"tls": "true", "tls_ca": authority, "compression": "snappy"},
		} {
			for _, levels := range []int{10, c.deep} {
				t.Run(name+" "+strconv.Itoa(levels)+" "+set["tls"]+set["compression"], func(t *testing.T) {
					l, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						t.Fatal(err)
					}
					if set["tls"] != "" {
						l = tls.NewListener(l, server.TLS)
					}
					serveNode(t, l, func(op byte, body string) (byte, string) {
						switch {
						case op == opAuthResponse:
							return opAuthSuccess, "\xff\xff\xff\xff"
						case strings.Contains(body, "system.local"):
							return opResult, localColumns + localRow
						case op == opQuery && !strings.Contains(body, "k.t"):
							return opResult, "\x00\x00\x00\x01"
						case op == opPrepare && !c.bound:
							return opResult, preparedResult + noColumn + noRow + oneColumn + columnName + typeBlob
						case op == opExecute && c.bound:
							return opResult, rowsResult + oneColumn + columnName + typeBlob + noRow
						}
						return opResult, c.response(levels)
					})
					s, err := readSettings(set)
					if err != nil {
						t.Fatal(err)
					}
					config, err := s.config([]string{l.Addr().String()}, login{})
					if err != nil {
						t.Fatal(err)
					}
					session, err := config.CreateSession()
					if err != nil {
						t.Fatal(err)
					}
					defer session.Close()
					var args []any
					if c.bound {
						args = []any{nil}
					}
					begun := time.Now()
					iter := session.Query("SELECT c FROM k.t", args...).Iter()
					var got []byte
					if name == "text" && iter.Scan(&got) && !bytes.Equal(got, []byte(bytesOf)) {
						t.Errorf("got %d bytes, want %d", len(got), len(bytesOf))
					}
					err = iter.Close()
					if levels > 10 && (err == nil || !strings.Contains(err.Error(), ": types nested more than 100 levels deep; check that it is a Cassandra node")) {
						t.Errorf("%v, want it refused", err)
					}
					if levels == 10 && err != nil {
						t.Error(err)
					}
					if took := time.Since(begun); took > time.Second {
						t.Errorf("it took %v", took)
					}
				})
			}
		}
	}
}
