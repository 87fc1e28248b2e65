package oraclenosql

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// proxy speaks as much of the protocol as tests of single requests need. It keeps no rows.
type proxy struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string // the requests, one a line
	// answer returns what a request gets; nil is the usual answer.
	answer func(op string, request object) any
}

// Answers that are none.
type (
	hangUp struct{} // the connection is closed
	half   struct{} // the connection is closed within the answer
	status int      // another HTTP status
)

var ops = []string{
	"Delete", "DeleteIfVersion", "Get", "Put", "PutIfAbsent", "PutIfPresent", "PutIfVersion", "Query", "Prepare",
	"WriteMultiple", "MultiDelete", "GetTable", "GetIndexes", "GetTableUsage", "ListTables", "TableRequest",
}

func newProxy(t testing.TB) *proxy {
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) < 2 {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	decoded := func() object { return reader{bytes.NewBuffer(body[2:])}.value().(object) }
	request := decoded()
	op := ops[request["h"].(object)["o"].(int)]
	p.mu.Lock()
	if op != "Prepare" && op != "ListTables" {
		p.sent = append(p.sent, describe(op, decoded()))
	}
	answer := p.answer
	p.mu.Unlock()
	var with any
	if answer != nil {
		with = answer(op, request["p"].(object))
	}
	switch with := with.(type) {
	case hangUp:
		panic(http.ErrAbortHandler)
	case half:
		w.Header().Set("Content-Length", "100")
		w.Write(make([]byte, 50))
		panic(http.ErrAbortHandler)
	case status:
		w.WriteHeader(int(with))
		return
	case nil:
		p.usual(w, op, request["p"].(object))
		return
	case object:
		reply(w, with)
	}
}

func reply(w http.ResponseWriter, o object) {
	w.Header().Set(versionHeader, "proxy=9.8.7 kv=9.8.6")
	var b writer
	b.value(o)
	w.Write(b.Bytes())
}

// usual answers as if there were no rows, and as if each write did what it was to do.
func (p *proxy) usual(w http.ResponseWriter, op string, payload object) {
	switch op {
	case "Prepare": // the driver sends it back as the query
		reply(w, object{nosqldb.PREPARED_QUERY: []byte("prepared: " + payload[nosqldb.STATEMENT].(string))})
	case "Query":
		rows := []any{}
		switch text := string(payload[nosqldb.PREPARED_QUERY].([]byte)); {
		case strings.Contains(text, "UPDATE"):
			rows = []any{object{"NumRowsUpdated": 1}}
		case strings.Contains(text, "SELECT partition("):
			rows = []any{object{partitionName: 7}}
		}
		reply(w, object{nosqldb.QUERY_RESULTS: rows})
	case "Put", "PutIfAbsent", "PutIfVersion":
		reply(w, object{nosqldb.ROW_VERSION: []byte("version")})
	case "Delete":
		reply(w, object{nosqldb.SUCCESS: true})
	case "MultiDelete":
		reply(w, object{nosqldb.NUM_DELETIONS: 0})
	case "WriteMultiple":
		reply(w, object{nosqldb.WM_SUCCESS: []any{}})
	default:
		reply(w, object{})
	}
}

// describe writes a request as a line: the operation, its table, and its arguments.
func describe(op string, request object) string {
	line := op
	if table, ok := request["h"].(object)[nosqldb.TABLE_NAME].(string); ok {
		line += " " + table
	}
	payload := request["p"].(object)
	if prepared, ok := payload[nosqldb.PREPARED_QUERY].([]byte); ok {
		line += " " + strings.TrimPrefix(string(prepared), "prepared: ")
		delete(payload, nosqldb.PREPARED_QUERY)
	}
	for _, dull := range []string{
		nosqldb.QUERY_VERSION, nosqldb.IS_PREPARED, nosqldb.IS_SIMPLE_QUERY, nosqldb.IDENTITY_CACHE_SIZE,
		nosqldb.SERVER_MEMORY_CONSUMPTION, nosqldb.NUM_OPERATIONS, nosqldb.MAX_WRITE_KB, nosqldb.MAX_READ_KB,
		nosqldb.TRACE_LEVEL, nosqldb.TRACE_AT_LOG_FILES,
	} {
		delete(payload, dull)
	}
	return line + " " + show(payload)
}

// show writes a payload with the protocol's own names. Variables are in the order of theirs.
func show(v any) string { return shown(v, true) }

// shown writes a value. Names within rows and keys are not the protocol's.
func shown(v any, protocol bool) string {
	switch v := v.(type) {
	case object:
		var words []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			long, ok := nosqldb.NsonFieldsMap[name]
			if !protocol || !ok {
				long = name
			}
			inner := v[name]
			if long == "BIND_VARIABLES" {
				inner = byName(inner.([]any))
			}
			within := protocol && long != "KEY" && long != "VALUE" && long != "BIND_VARIABLES"
			words = append(words, long+":"+shown(inner, within))
		}
		return "{" + strings.Join(words, " ") + "}"
	case []any:
		var words []string
		for _, e := range v {
			words = append(words, shown(e, protocol))
		}
		return "[" + strings.Join(words, ", ") + "]"
	case []byte:
		return fmt.Sprintf("0x%x", v)
	case string:
		return fmt.Sprintf("%q", v)
	case int64:
		return fmt.Sprintf("%dL", v)
	}
	return fmt.Sprint(v)
}

// byName returns variables as an object.
func byName(variables []any) object {
	o := make(object)
	for _, v := range variables {
		v := v.(object)
		o[v[nosqldb.NAME].(string)] = v[nosqldb.VALUE]
	}
	return o
}

// take returns the requests since the last take.
func (p *proxy) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent
	p.sent = nil
	return sent
}

func (p *proxy) answers(with func(op string, request object) any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = with
}

// store opens a store of the proxy that takes the schema as applied.
func (p *proxy) store(t testing.TB, s *schemas.Schema, settings map[string]string) *Store {
	t.Helper()
	o := drivers.Options{Contact: []string{strings.TrimPrefix(p.URL, "http://")}, Named: []string{"contact"}, Namespace: "run", Settings: settings}
	opened, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	st := opened.(*Store)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := newLayout(s, o.Namespace, "")
	if err != nil {
		t.Fatal(err)
	}
	st.applied.Add(s, l.tables)
	return st
}
