package cassandra

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

const onceBody = `
tables:
  rows: {partition: [p text], clustering: [k int], columns: {v: text, l: list<text>}}
  counts: {partition: [p text], columns: {n: counter}}
patterns:
  put: {put: rows, columns: v}
  replace: {put: rows, columns: l}
  push: {append: rows, columns: l}
  create: {put-if: rows, columns: v, if: absent}
  change: {put-if: rows, columns: v, if: v}
  count: {increment: counts, columns: n}
  puts: {batch: [{run: put, each: x}], atomic: partition}
  pushes: {batch: [{run: push, each: x}], atomic: partition}
  counts: {batch: [{run: count, each: x}], atomic: partition}
  far: {batch: [{run: count, each: x}], atomic: none}
  lists: {slice: rows, by: p, columns: l}
  total: {get: counts, columns: n}
`

// TestSentOnce: a connection is lost after a request reached the node, and before its answer
// came. A request that may not be executed twice is not sent twice, and its outcome is unknown.
func TestSentOnce(t *testing.T) {
	p := newProxy(t, live.Contact(t, "cassandra"))
	st := drivertest.OpenLive(t, Engine(), drivers.Options{
		Contact: []string{p.address()}, Namespace: newNamespace(), Settings: map[string]string{"connections": "32"}, // each case loses one
	}).(*Store)
	schema, err := schemas.Parse("once.yaml", []byte("schema: 1\nname: once\n"+onceBody))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, st, schema)
	list := drivers.ListOf([]drivers.Value{drivers.Text("a")})
	two := func(args ...drivers.Value) []drivers.Call { return []drivers.Call{{Args: args}, {Args: args}} }
	rows := func(p string, v drivers.Value) []drivers.Call { // of two rows of a partition
		return []drivers.Call{
			{Args: []drivers.Value{drivers.Text(p), drivers.Int(1), v}}, {Args: []drivers.Value{drivers.Text(p), drivers.Int(2), v}},
		}
	}
	for _, x := range []struct {
		pattern string
		args    []drivers.Value
		calls   []drivers.Call
		again   bool // it may be sent again
	}{
		{"put", []drivers.Value{drivers.Text("p"), drivers.Int(1), drivers.Text("v")}, nil, true},
		{"puts", nil, rows("p", drivers.Text("v")), true},
		{"count", []drivers.Value{drivers.Text("one"), drivers.Bigint(1)}, nil, false},
		{"counts", nil, two(drivers.Text("two"), drivers.Bigint(1)), false},
		{"far", nil, two(drivers.Text("far"), drivers.Bigint(1))[:1], false},
		{"push", []drivers.Value{drivers.Text("pushed"), drivers.Int(1), list}, nil, false},
		{"replace", []drivers.Value{drivers.Text("replaced"), drivers.Int(1), list}, nil, false},
		{"pushes", nil, rows("pushed together", list), false},
		{"create", []drivers.Value{drivers.Text("p"), drivers.Int(3), drivers.Text("v")}, nil, false},
		{"change", []drivers.Value{drivers.Text("p"), drivers.Int(1), drivers.Text("w"), drivers.Text("v")}, nil, false},
	} {
		send := func() (err error) {
			if x.calls != nil {
				return r.session.Batch(context.Background(), r.stmt(x.pattern), x.calls)
			}
			_, err = r.session.Write(context.Background(), r.stmt(x.pattern), x.args)
			return err
		}
		p.arm()
		err := send()
		switch came := p.disarm(); {
		case x.again && (err != nil || came < 2):
			t.Errorf("%s may be sent again: it was sent %d times, %v", x.pattern, came, err)
		case !x.again && (came != 1 || !errors.Is(err, drivers.ErrUnknown)):
			t.Errorf("%s was sent %d times: %v; want once, and an unknown outcome", x.pattern, came, err)
		}
	}
}

// proxy is between the driver and a node. It can cut a connection when a write has come.
type proxy struct {
	net.Listener
	node string

	mu    sync.Mutex
	armed bool // count writes
	cut   bool // cut the connection of the next one
	came  int  // writes that came since then
}

func newProxy(t *testing.T, node string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, node: node}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *proxy) address() string { return p.Addr().String() }

func (p *proxy) arm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.cut, p.came = true, true, 0
}

// disarm returns how many writes came since arm.
func (p *proxy) disarm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	return p.came
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	node, err := net.Dial("tcp", p.node)
	if err != nil {
		return
	}
	defer node.Close()
	cut := make(chan struct{}) // closed when answers no longer count
	go func() {
		b := make([]byte, 64<<10)
		for {
			n, err := node.Read(b)
			select {
			case <-cut:
				return
			default:
			}
			if _, werr := client.Write(b[:n]); err != nil || werr != nil {
				_ = client.Close()
				return
			}
		}
	}()
	// A frame of the protocol up to version 4 has a header of 9 bytes: the fifth is its
	// kind, the last four are its length.
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		const execute, batch = 0x0A, 0x0D
		write := head[4] == execute || head[4] == batch
		last := write && p.writes()
		if last {
			close(cut)
		}
		frame := make([]byte, len(head)+int(binary.BigEndian.Uint32(head[5:])))
		copy(frame, head)
		if _, err := io.ReadFull(client, frame[len(head):]); err != nil {
			return
		}
		if _, err := node.Write(frame); err != nil || last {
			return
		}
	}
}

// writes counts a write, and reports whether its connection is to be cut.
func (p *proxy) writes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed {
		return false
	}
	p.came++
	last := p.cut
	p.cut = false
	return last
}
