package cassandra

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/gocql/gocql"
	"github.com/golang/snappy"
)

const (
	// maxLevels bounds types nested in types. gocql parses them by recursion, in the metadata of results and in the
	// text of system_schema. A stack overflow ends the process, and no recover prevents that.
	maxLevels = 100
	// longType is the length from which a value is checked that begins like a type. gocql parses shorter ones safely.
	longType = 8 << 10
	// maxFrame is the longest frame that gocql parses.
	maxFrame = 256 << 20
	// frameHead is the length of a frame's header: version, flags, stream, kind and length of the body.
	frameHead = 9
)

var errNested = fmt.Errorf("types nested more than %d levels deep", maxLevels)

// dialer opens the connections of a session. Each checks the frames of the server.
type dialer struct{ *gocql.ClusterConfig }

// DialHost implements gocql.HostDialer. It connects as gocql's own does.
func (d dialer) DialHost(ctx context.Context, host *gocql.HostInfo) (*gocql.DialedHost, error) {
	conn, err := d.Dialer.DialContext(ctx, "tcp", host.ConnectAddressAndPort())
	if err != nil {
		return nil, err
	}
	var encrypted *tls.Config
	if d.SslOpts != nil {
		encrypted = d.SslOpts.Config
	}
	dialed, err := gocql.WrapTLS(ctx, conn, host.HostnameAndPort(), encrypted)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: dialed.Conn, in: bufio.NewReader(dialed.Conn), compressed: d.Compressor != nil}
	dialed.Conn = w
	if tcp, ok := w.Conn.(*net.TCPConn); ok {
		dialed.Conn = plainWire{tcp, w}
	}
	return dialed, nil
}

// plainWire is a wire without TLS. It embeds *net.TCPConn, over which gocql sends several requests in one system call.
type plainWire struct {
	*net.TCPConn
	in *wire
}

// Read implements net.Conn.
func (p plainWire) Read(b []byte) (int, error) { return p.in.Read(b) }

// wire is a connection that checks each frame before gocql parses it. It also decompresses frames.
type wire struct {
	net.Conn
	in         *bufio.Reader
	compressed bool   // the session has agreed on Snappy
	begin      []byte // of the frame: its header, and as much of the body as was needed to check the types
	ready      []byte // the part of begin that gocql has not read yet
	left       int    // bytes of the frame after begin that gocql has not read yet
	rows       rowsCheck
	err        error // of all further reads
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (n int, err error) {
	if w.err == nil && len(w.ready) == 0 && w.left == 0 {
		w.err = w.next()
	}
	switch {
	case w.err != nil:
		return 0, w.err
	case len(w.ready) > 0:
		n = copy(p, w.ready)
		w.ready = w.ready[n:]
		return n, nil
	}
	n, err = w.in.Read(p[:min(len(p), w.left)])
	w.left -= n
	if w.err = w.invalid(w.rows.check(p[:n])); w.err != nil {
		return 0, w.err
	}
	return n, err
}

func (w *wire) invalid(err error) error {
	if err != nil {
		err = fmt.Errorf("invalid response from %s: %w; check that it is a Cassandra node", w.RemoteAddr(), err)
	}
	return err
}

// next reads the beginning of a frame.
func (w *wire) next() error {
	if cap(w.begin) > longType {
		w.begin = nil
	}
	w.begin, w.left = w.begin[:0], frameHead
	if err := w.more(frameHead); err != nil {
		return err
	}
	const compressed, response, result = 1, 0x80, 8
	version, flags, kind := w.begin[0]&^response, w.begin[1], w.begin[4]
	size := int(int32(binary.BigEndian.Uint32(w.begin[5:])))
	if version == 1 || version == 2 { // their headers are shorter
		return w.invalid(fmt.Errorf("protocol version %d, expected %d", version, protocol))
	}
	w.left, w.rows = max(size, 0), rowsCheck{}
	if w.compressed && flags&compressed != 0 && w.left <= maxFrame {
		if err := w.decompress(); err != nil {
			return err
		}
		w.begin[1] &^= compressed
	}
	for kind == result && w.left <= maxFrame {
		long := len(w.begin)-frameHead+w.left >= longType
		m := metadata{rest: w.begin[frameHead:]}
		values, err := m.result(flags)
		if err == nil && m.short && w.left > 0 {
			if err := w.more(min(w.left, max(len(w.begin), 500))); err != nil {
				return err
			}
			continue
		}
		if err == nil && long {
			w.rows.values = values
			err = w.rows.check(m.rest)
		}
		if err != nil {
			return w.invalid(err)
		}
		break
	}
	w.ready = w.begin
	return nil
}

// more adds n bytes to the beginning of the frame.
func (w *wire) more(n int) error {
	had := len(w.begin)
	w.begin = slices.Grow(w.begin, n)[:had+n]
	w.left -= n
	_, err := io.ReadFull(w.in, w.begin[had:])
	return err
}

// decompress reads the body and replaces it with what it contains.
func (w *wire) decompress() error {
	if err := w.more(w.left); err != nil {
		return err
	}
	packed := w.begin[frameHead:]
	size, err := snappy.DecodedLen(packed)
	if err == nil && size > maxFrame {
		err = fmt.Errorf("%d bytes in a frame, more than %d", size, maxFrame)
	}
	if err != nil {
		return w.invalid(err)
	}
	whole := make([]byte, frameHead+size)
	if _, err = snappy.Decode(whole[frameHead:], packed); err != nil {
		return w.invalid(err)
	}
	copy(whole, w.begin[:frameHead-4])
	binary.BigEndian.PutUint32(whole[frameHead-4:], uint32(size))
	w.begin = whole
	return nil
}

// rowsCheck follows the values of rows through their bytes, as far as they have come.
type rowsCheck struct {
	values int    // whose length has not come yet
	length []byte // the part that has come of a length
	left   int    // bytes of a value that have not come yet
	long   bool   // the value
	begin  []byte // its first bytes
	levels int    // of types at this place, if the value is a type
}

// typeWords begin the types that gocql parses.
var typeWords = []string{"frozen<", "set<", "list<", "map<", "tuple<", "org.apac"}

func (r *rowsCheck) check(b []byte) error {
	for len(b) > 0 && (r.values > 0 || r.left > 0) {
		if r.left == 0 && len(r.length) == 0 && len(b) >= 4 { // most values are short, and here as a whole
			if n := max(int(int32(binary.BigEndian.Uint32(b))), 0); n < longType && n <= len(b)-4 {
				b = b[4+n:]
				r.values--
				continue
			}
		}
		if r.left == 0 {
			n := min(4-len(r.length), len(b))
			r.length, b = append(r.length, b[:n]...), b[n:]
			if len(r.length) == 4 {
				r.left = max(int(int32(binary.BigEndian.Uint32(r.length))), 0)
				r.values--
				r.length, r.long, r.begin, r.levels = r.length[:0], r.left >= longType, r.begin[:0], 0
			}
			continue
		}
		part := b[:min(r.left, len(b))]
		r.left, b = r.left-len(part), b[len(part):]
		if !r.long {
			continue
		}
		r.begin = append(r.begin, part[:min(len(part), 8-len(r.begin))]...)
		if !slices.ContainsFunc(typeWords, func(word string) bool { return bytes.HasPrefix(r.begin, []byte(word)) }) {
			continue
		}
		for _, c := range part {
			switch c {
			case '<', '(':
				r.levels++
			case '>', ')':
				r.levels--
			}
			if r.levels > maxLevels {
				return errNested
			}
		}
	}
	return nil
}

// metadata is a result from the beginning of its body. After its end there are zeros.
type metadata struct {
	rest  []byte
	short bool // the end has been passed
	err   error
}

func (m *metadata) skip(n int) {
	m.short = m.short || n > len(m.rest)
	m.rest = m.rest[min(max(n, 0), len(m.rest)):]
}

// number reads a number of 2 or 4 bytes.
func (m *metadata) number(size int) (n int) {
	if b := m.rest; len(b) < size {
		m.short = true
	} else if size == 2 {
		n = int(binary.BigEndian.Uint16(b))
	} else {
		n = int(int32(binary.BigEndian.Uint32(b)))
	}
	m.skip(size)
	return n
}

func (m *metadata) text() []byte {
	n := m.number(2)
	text := m.rest[:min(n, len(m.rest))]
	m.skip(n)
	return text
}

func (m *metadata) times(n int, do func()) {
	for ; n > 0 && !m.short && m.err == nil; n-- {
		do()
	}
}

// result reads to the first row, and returns the number of values in all rows.
func (m *metadata) result(flags byte) (values int, err error) {
	const tracing, payload, warning, rows, prepared = 2, 4, 8, 2, 4
	if flags&tracing != 0 {
		m.skip(16)
	}
	if flags&warning != 0 {
		m.times(m.number(2), func() { m.text() })
	}
	if flags&payload != 0 {
		m.times(m.number(2), func() { m.text(); m.skip(m.number(4)) })
	}
	switch m.number(4) {
	case rows:
		values = m.columns(false) * max(m.number(4), 0)
	case prepared:
		m.text() // its ID
		m.columns(true)
		m.columns(false)
	}
	return values, m.err
}

// columns reads the names and types of columns, and returns their number.
func (m *metadata) columns(arguments bool) int {
	const oneTable, morePages, noNames = 1, 2, 4
	flags, n := m.number(4), m.number(4)
	if arguments {
		keys := m.number(4)
		if keys < 0 || keys > n { // gocql panics, or allocates that many
			m.err = fmt.Errorf("a key of %d columns in a statement with %d arguments", keys, n)
		}
		m.skip(2 * keys)
	}
	if flags&morePages != 0 {
		m.skip(m.number(4))
	}
	if flags&noNames != 0 {
		return n
	}
	if flags&oneTable != 0 {
		m.text()
		m.text()
	}
	m.times(n, func() {
		if flags&oneTable == 0 {
			m.text()
			m.text()
		}
		m.text()
		m.readType(0)
	})
	return n
}

// readType reads a type and those in it.
func (m *metadata) readType(level int) {
	if level > maxLevels {
		m.err = errNested
		return
	}
	nested := func() { m.readType(level + 1) }
	const custom, list, maps, set, udt, tuple = 0, 0x20, 0x21, 0x22, 0x30, 0x31
	id := m.number(2)
	if id == custom {
		// gocql reads these like the types without a name.
		switch string(bytes.TrimPrefix(m.text(), []byte("org.apache.cassandra.db.marshal."))) {
		case "ListType", "SetType":
			id = list
		case "MapType":
			id = maps
		case "TupleType":
			id = tuple
		}
	}
	switch id {
	case maps:
		m.times(2, nested)
	case list, set:
		m.times(1, nested)
	case udt:
		m.text()
		m.text()
		m.times(m.number(2), func() { m.text(); nested() })
	case tuple:
		m.times(m.number(2), nested)
	}
}
