package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// frame returns an answer with its length.
func frame(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		if err := binary.Write(&b, binary.BigEndian, p); err != nil {
			panic(err)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...)
}

// readFrame reads a request.
func readFrame(t *testing.T, c net.Conn) []byte {
	var size uint32
	if binary.Read(c, binary.BigEndian, &size) != nil {
		return nil
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil
	}
	return b
}

// listen starts a server for one test.
func listen(t *testing.T, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// greeting is ZooKeeper's answer that opens a session.
var greeting = frame(int32(0), int32(10000), int64(1), int32(16), make([]byte, 16))

// closeSession is the number of ZooKeeper's operation that ends a session.
const closeSession = -11

// zooKeeper answers each session like ZooKeeper, and the first request for a node with data.
func zooKeeper(t *testing.T, data []byte) string {
	return listen(t, func(c net.Conn) {
		readFrame(t, c)
		c.Write(greeting)
		for {
			request := readFrame(t, c)
			if len(request) < 8 {
				return
			}
			xid, op := binary.BigEndian.Uint32(request), int32(binary.BigEndian.Uint32(request[4:]))
			if op == closeSession {
				c.Write(frame(xid, int64(1), int32(0)))
				return
			}
			if data == nil {
				c.Write(frame(int32(7)))
				continue
			}
			c.Write(frame(xid, int64(1), int32(0), int32(len(data)), data, make([]byte, 68)))
		}
	})
}

// nodeOf is the data of HBase in ZooKeeper.
func nodeOf(t *testing.T, address string) []byte {
	host, port, _ := net.SplitHostPort(address)
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&pb.Master{Master: &pb.ServerName{HostName: &host, Port: proto.Uint32(uint32(n))}})
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("\xff\x00\x00\x00\x04mastPBUF"), b...)
}

// hbaseWith answers each call with a header and what follows it.
func hbaseWith(t *testing.T, header proto.Message, more []byte) string {
	return listen(t, func(c net.Conn) {
		if _, err := io.ReadFull(c, make([]byte, 6)); err != nil { // "HBas", version and login
			return
		}
		readFrame(t, c)
		for readFrame(t, c) != nil {
			var b bytes.Buffer
			if header != nil {
				if _, err := protodelim.MarshalTo(&b, header); err != nil {
					t.Error(err)
				}
			}
			c.Write(frame(append(b.Bytes(), more...)))
		}
	})
}

// TestWrongServer: something else than ZooKeeper or HBase is refused immediately, says what it answered, and
// neither takes memory nor ends the process.
func TestWrongServer(t *testing.T) {
	says := func(b []byte) string {
		return listen(t, func(c net.Conn) {
			readFrame(t, c)
			c.Write(b)
			io.Copy(io.Discard, c)
		})
	}
	answers := func(header proto.Message, more ...byte) string {
		return zooKeeper(t, nodeOf(t, hbaseWith(t, header, more)))
	}
	id := proto.Uint32(1)
	for name, c := range map[string]struct{ at, want string }{
		"HTTP":            {says([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")), `is no ZooKeeper: it answers "HTTP/1.1 400 Bad Request`},
		"SSH":             {says([]byte("SSH-2.0-OpenSSH_9.6\r\n")), `is no ZooKeeper: it answers "SSH-2.0`},
		"2 GB":            {says([]byte{0x7f, 0xff, 0xff, 0xff}), "a length of 2147483647 bytes"},
		"below 0":         {says([]byte{0xff, 0xff, 0xff, 0xff}), "a length of 4294967295 bytes"},
		"4 bytes":         {says(frame(int32(0))), "no opening of a session"},
		"a password 2 GB": {says(frame(int32(0), int32(10000), int64(1), int32(0x7fffffff), make([]byte, 16))), "no opening of a session"},
		"a session of 0":  {says(frame(int32(0), int32(0), int64(1), int32(16), make([]byte, 16))), "a session of 0 ms"},
		"2 GB later":      {says(append(bytes.Clone(greeting), 0x7f, 0xff, 0xff, 0xf0)), "a length of 2147483632 bytes"},
		"4 bytes later":   {zooKeeper(t, nil), "an answer of 4 bytes"},
		"an empty node":   {zooKeeper(t, []byte{}), "a node that HBase did not write"},
		"a short node":    {zooKeeper(t, []byte("\xff\x00\x00\x00")), "a node that HBase did not write"},
		"a name of 2 GB":  {zooKeeper(t, []byte("\xff\x7f\xff\xff\xffmastPBUF")), "a node that HBase did not write"},
		"a node without a name": {
			zooKeeper(t, []byte("\xff\x00\x00\x00\x04mastPBUF\x0a\x00")), "a node without a server's name",
		},
		"a master that is none": {
			zooKeeper(t, nodeOf(t, listen(t, func(c net.Conn) { c.Write([]byte("HTTP/1.1 200 OK\r\n")); io.Copy(io.Discard, c) }))),
			`is no HBase server: it answers "HTTP/1.1 200`,
		},
		"no header":               {answers(nil, 0xff, 0xff), "no header"},
		"an empty answer":         {answers(nil), "no header"},
		"more cells than bytes":   {answers(&pb.ResponseHeader{CallId: id, CellBlockMeta: &pb.CellBlockMeta{Length: proto.Uint32(1 << 31)}}, 0), "bytes of cells"},
		"an exception of nothing": {answers(&pb.ResponseHeader{CallId: id, Exception: &pb.ExceptionResponse{}}), "without a class"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{c.at}, Settings: map[string]string{"connect_timeout": "1m", "timeout": "1m"}})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, drivers.ErrUnreachable) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if took, bytes := time.Since(began), after.TotalAlloc-before.TotalAlloc; took > 20*time.Second || bytes > 40<<20 {
				t.Errorf("it took %v and %d bytes", took, bytes)
			}
		})
	}
}

// TestHint: the error names the likely fault, whichever timeout ends first.
func TestHint(t *testing.T) {
	silent := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	for setting, settings := range map[string]map[string]string{
		"connect_timeout": {"connect_timeout": "200ms", "timeout": "1m"}, "timeout": {"connect_timeout": "1m", "timeout": "200ms"},
	} {
		_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{silent}, Settings: settings})
		if want := "within 200ms (setting " + setting + "): this is no ZooKeeper, or"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
