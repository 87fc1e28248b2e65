package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// mostHead bounds what wire checks of an answer: all of ZooKeeper's, and the header of HBase's.
	mostHead = 64 << 10
	// mostAnswer bounds an answer of HBase, which itself bounds requests to 256 MiB.
	mostAnswer = 256 << 20
)

// ForeignError is an answer that is not of the protocol.
type ForeignError struct {
	address string
	kind    string // of server that was expected
	begin   []byte // of the answer
	why     error
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is no %s: it answers %q (%v); --contact must name HBase's ZooKeeper", e.address, e.kind, e.begin, e.why)
}

// wire is a connection that checks each answer before the client library reads it. The libraries take the
// first four bytes of whatever answers for a length, allocate that much, and panic in goroutines of their
// own over answers that are too short. It embeds *net.TCPConn, over which gohbase sends a request in one
// system call.
type wire struct {
	*net.TCPConn
	in   *bufio.Reader
	left int // bytes of the answer that are not read yet

	address, kind string // of the server that is expected
	check         func(w *wire, size uint32) error
	failed        func(error) // is called with an answer that is not of the protocol

	header  pb.ResponseHeader // HBase: that of the last answer
	greeted bool              // ZooKeeper: the session is open
	closing atomic.Bool       // ZooKeeper: the library has sent the end of the session
}

// ZooKeeperDialer returns what opens connections to ZooKeeper. failed is called with each ForeignError.
func ZooKeeperDialer(failed func(error)) Dialer { return dialer("ZooKeeper", checkZooKeeper, failed) }

// RegionDialer returns what opens connections to the master and to region servers.
func RegionDialer(failed func(error)) Dialer { return dialer("HBase server", checkHBase, failed) }

// Dialer opens a connection whose answers are checked.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns what opens connections to servers of one kind. failed is called with each ForeignError.
func dialer(kind string, check func(*wire, uint32) error, failed func(error)) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		in := bufio.NewReaderSize(conn, 4+mostHead)
		return &wire{
			TCPConn: conn.(*net.TCPConn), in: in, address: address, kind: kind, check: check, failed: failed,
		}, nil
	}
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	if w.left == 0 {
		head, err := w.in.Peek(4)
		if err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(head)
		if err := w.check(w, size); err != nil {
			if network := net.Error(nil); errors.As(err, &network) || errors.Is(err, io.EOF) {
				return 0, err
			}
			begin, _ := w.in.Peek(min(w.in.Buffered(), 40))
			foreign := &ForeignError{address: w.address, kind: w.kind, begin: bytes.Clone(begin), why: err}
			w.failed(foreign)
			return 0, foreign
		}
		w.left = 4 + int(size)
	}
	n, err := w.in.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

// Write implements net.Conn. It notes the end of a session of ZooKeeper.
func (w *wire) Write(p []byte) (int, error) {
	if len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == closeSession {
		w.closing.Store(true)
	}
	return w.TCPConn.Write(p)
}

// closeSession is the number of ZooKeeper's operation that ends a session.
const closeSession = -11

// checkZooKeeper checks an answer of ZooKeeper: the opening of a session, or a node of HBase.
func checkZooKeeper(w *wire, size uint32) error {
	if size > mostHead {
		return fmt.Errorf("a length of %d bytes", size)
	}
	all, err := w.in.Peek(4 + int(size))
	if err != nil {
		return err
	}
	b := all[4:]
	if !w.greeted {
		if len(b) < 36 || binary.BigEndian.Uint32(b[16:]) > uint32(len(b)-20) {
			return errors.New("no opening of a session")
		}
		timeout, session := int32(binary.BigEndian.Uint32(b[4:])), binary.BigEndian.Uint64(b[8:])
		if session != 0 && timeout <= 0 {
			return fmt.Errorf("a session of %d ms", timeout)
		}
		w.greeted = true
		return nil
	}
	if len(b) < 16 {
		return fmt.Errorf("an answer of %d bytes", len(b))
	}
	request, failed := int32(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[12:])
	switch {
	case request == -1 && len(b) < 28:
		return errors.New("an event that is too short")
	case request < 0 || failed != 0 || w.closing.Load():
		return nil
	case len(b) < 20 || binary.BigEndian.Uint32(b[16:]) > uint32(len(b)-20):
		return errors.New("a node that is too short")
	case len(b)-20-int(binary.BigEndian.Uint32(b[16:])) < 68: // the node's state follows
		return errors.New("a node without its state")
	}
	return checkNode(b[20 : 20+binary.BigEndian.Uint32(b[16:])])
}

// checkNode checks a node in which HBase says where a server is: a mark, the writer's name, and a message
// whose first field is the server's name.
func checkNode(b []byte) error {
	if len(b) < 5 || b[0] != 0xff {
		return errors.New("a node that HBase did not write")
	}
	name := binary.BigEndian.Uint32(b[1:])
	if name > uint32(len(b)-5) || len(b)-5-int(name) < 4 || string(b[5+name:9+name]) != "PBUF" {
		return errors.New("a node that HBase did not write")
	}
	var server pb.Master
	if err := proto.Unmarshal(b[9+name:], &server); err != nil || server.GetMaster().GetHostName() == "" ||
		server.GetMaster().GetPort() == 0 {
		return errors.New("a node without a server's name and port")
	}
	return nil
}

// checkHBase checks the header of an answer of the master or of a region server.
func checkHBase(w *wire, size uint32) error {
	if size > mostAnswer {
		return fmt.Errorf("a length of %d bytes", size)
	}
	b, err := w.in.Peek(4 + min(int(size), binary.MaxVarintLen64))
	if err != nil {
		return err
	}
	header, n := protowire.ConsumeVarint(b[4:])
	if n < 0 || header > uint64(size)-uint64(n) || header > mostHead-binary.MaxVarintLen64 {
		return errors.New("no header")
	}
	if b, err = w.in.Peek(4 + n + int(header)); err != nil {
		return err
	}
	if err := proto.Unmarshal(b[4+n:], &w.header); err != nil {
		return fmt.Errorf("no header: %w", err)
	}
	switch e, cells := w.header.Exception, w.header.GetCellBlockMeta().GetLength(); {
	case e != nil && (e.ExceptionClassName == nil || e.StackTrace == nil):
		return errors.New("an exception without a class or a text")
	case cells > size: // they follow the answer
		return fmt.Errorf("%d bytes of cells in an answer of %d", cells, size)
	}
	return nil
}
