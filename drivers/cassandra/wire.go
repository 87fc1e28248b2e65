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
	"time"

	"github.com/gocql/gocql"
	"github.com/golang/snappy"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

const (
	// maxLevels bounds types nested in types. gocql parses them by recursion, in the metadata of results and in the
	// text of system_schema. A stack overflow ends the process, and no recover prevents that.
	maxLevels = 100
	// longType is the length from which a value is checked that begins like a type. gocql parses shorter ones safely.
	longType = 8 << 10
	// maxFrame is the longest frame that gocql parses, and maxKept is the longest whose memory is used again.
	maxFrame, maxKept = 256 << 20, 1 << 20
	// frameHead is the length of a frame's header: version, flags, stream, kind and length of the body.
	frameHead = 9
	// bodyTimeouts is for how many timeouts of a request gocql waits for a body.
	bodyTimeouts = 5
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
	w := &wire{
		Conn: dialed.Conn, in: bufio.NewReader(dialed.Conn), timeout: d.Timeout, compressed: d.Compressor != nil,
	}
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
	timeout    time.Duration // of a request; 0 is none
	compressed bool          // the session has agreed on Snappy
	frame      []byte        // its header and its body
	ready      []byte        // the part of frame that gocql has not read yet
	err        error         // of all further reads
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.ready) == 0 && w.err == nil {
		w.err = w.next()
	}
	if w.err != nil {
		return 0, w.err
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

// next reads and checks a frame.
func (w *wire) next() error {
	if cap(w.frame) < frameHead || cap(w.frame) > maxKept {
		w.frame = make([]byte, 0, longType)
	}
	w.frame = w.frame[:frameHead]
	if _, err := io.ReadFull(w.in, w.frame); err != nil {
		return err
	}
	version := w.frame[0] &^ 0x80 // without the bit of responses
	size := max(int(int32(binary.BigEndian.Uint32(w.frame[frameHead-4:]))), 0)
	if version == 1 || version == 2 { // their headers are shorter
		return w.invalid(fmt.Errorf("protocol version %d, expected %d", version, protocol))
	}
	if size > maxFrame {
		return w.invalid(fmt.Errorf("%d bytes in a frame, more than %d", size, maxFrame))
	}
	if w.timeout > 0 { // gocql sets a deadline after the header only
		_ = w.SetReadDeadline(time.Now().Add(bodyTimeouts * w.timeout))
	}
	w.frame = slices.Grow(w.frame, size)[:frameHead+size]
	if _, err := io.ReadFull(w.in, w.frame[frameHead:]); err != nil {
		return err
	}
	if err := w.checkBody(); err != nil {
		return w.invalid(err)
	}
	w.ready = w.frame
	return nil
}

func (w *wire) invalid(err error) error {
	return fmt.Errorf("invalid response from %s: %w; check that it is a Cassandra node", w.RemoteAddr(), err)
}

// checkBody checks the body of a frame, which it decompresses.
func (w *wire) checkBody() error {
	const compressed, result = 1, 8
	if w.compressed && w.frame[1]&compressed != 0 {
		packed := w.frame[frameHead:]
		size, err := snappy.DecodedLen(packed)
		if err == nil && size > maxFrame {
			err = fmt.Errorf("%d bytes in a frame, more than %d", size, maxFrame)
		}
		if err != nil {
			return err
		}
		whole := make([]byte, frameHead+size)
		if _, err = snappy.Decode(whole[frameHead:], packed); err != nil {
			return err
		}
		copy(whole, w.frame[:frameHead-4])
		binary.BigEndian.PutUint32(whole[frameHead-4:], uint32(size))
		w.frame = whole
		w.frame[1] &^= compressed
	}
	if w.frame[4] != result {
		return nil
	}
	m := metadata{rest: w.frame[frameHead:]}
	values, err := m.result(w.frame[1])
	if err == nil && len(w.frame) >= longType {
		err = m.checkValues(values)
	}
	return err
}

// typeWords begin the types that gocql parses.
var typeWords = []string{"frozen<", "set<", "list<", "map<", "tuple<", "org.apac"}

// checkValues checks the values of rows. A value may be the text of a type.
func (m *metadata) checkValues(values int) error {
	for ; values > 0 && !m.short; values-- {
		v, _ := m.value()
		begins := func(word string) bool { return bytes.HasPrefix(v, []byte(word)) }
		if len(v) < longType || !slices.ContainsFunc(typeWords, begins) {
			continue
		}
		levels := 0
		for _, c := range v {
			switch c {
			case '<', '(':
				levels++
			case '>', ')':
				levels--
			}
			if levels > maxLevels {
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

// value reads a value after its length. ok is false if it is null or not all there.
func (m *metadata) value() (v []byte, ok bool) {
	n := m.number(4)
	if ok = !m.short && n >= 0 && n <= len(m.rest); ok {
		v = m.rest[:n]
	}
	m.skip(n)
	return v, ok
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

// bindValue is the value of one bind marker. gocql copies its bytes into the request.
type bindValue struct{ v drivers.Value }

// MarshalCQL implements gocql.Marshaler. The value's kind was checked before.
func (s *bindValue) MarshalCQL(gocql.TypeInfo) ([]byte, error) {
	if s.v.IsNull() {
		return nil, nil
	}
	if b := s.v.Raw(); len(b) > 0 {
		return b, nil
	}
	return appendValue(nil, s.v), nil
}

// empty is an empty text or blob. A nil slice would mean null.
var empty = []byte{}

// appendValue appends a value in the native protocol's encoding. It must not be
// null.
func appendValue(dst []byte, v drivers.Value) []byte {
	if dst == nil {
		dst = empty
	}
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return append(dst, v.Raw()...)
	case schemas.Int:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int64()))
	case schemas.Boolean:
		return append(dst, byte(v.Int64()))
	case schemas.UUID, schemas.TimeUUID:
		id := v.UUIDBytes()
		return append(dst, id[:]...)
	case schemas.Set, schemas.List, schemas.Map:
		n := len(v.Elems())
		if v.Kind() == schemas.Map {
			n /= 2
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		for _, e := range v.Elems() {
			at := len(dst)
			dst = appendValue(append(dst, 0, 0, 0, 0), e)
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, uint64(v.Int64()))
}

// resultValue receives a column of a result. Its value shares the bytes of the
// response, which gocql never reuses. So the value stays valid as long as somebody
// holds it.
type resultValue struct {
	typ schemas.Type
	v   drivers.Value
	// tolerant is that of the session. If true, a value that cannot be decoded becomes a broken one.
	tolerant *bool
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (c *resultValue) UnmarshalCQL(_ gocql.TypeInfo, data []byte) (err error) {
	if data == nil {
		c.v = drivers.Value{}
		return nil
	}
	if c.typ.Collection() {
		c.v, err = c.collection(data)
	} else {
		c.v, err = readTyped(c.typ, data)
	}
	if err != nil && *c.tolerant {
		c.v, err = drivers.Broken(data), nil
	}
	return err
}

// collection decodes a set, list or map. Cassandra stores no empty ones.
func (c *resultValue) collection(data []byte) (drivers.Value, error) {
	m := metadata{rest: data}
	n := m.number(4)
	if m.short || n < 0 {
		return drivers.Value{}, fmt.Errorf("a %s of %d bytes", c.typ, len(data))
	}
	if c.typ.Kind == schemas.Map {
		n *= 2
	}
	var elems []drivers.Value
	for i := range n {
		typ := c.typ.Elem
		if c.typ.Kind == schemas.Map && i%2 == 0 {
			typ = c.typ.Key
		}
		v, ok := m.value()
		if !ok {
			return drivers.Value{}, fmt.Errorf("a %s ends within element %d of %d", c.typ, i+1, n)
		}
		e, err := readTyped(*typ, v)
		if err != nil {
			return drivers.Value{}, err
		}
		elems = append(elems, e)
	}
	return drivers.Collection(c.typ.Kind, elems), nil
}

// readTyped decodes a value that is not a collection. Of a type that only CQL has it returns the bytes,
// unless they are those of the kind that the type is taken for.
func readTyped(t schemas.Type, data []byte) (drivers.Value, error) {
	if t.Foreign == "" {
		return readValue(t.Kind, data)
	}
	if t.Kind != schemas.Null {
		if v, err := readValue(t.Kind, data); err == nil {
			return v, nil
		}
	}
	return drivers.Bytes(schemas.Blob, data), nil
}

// readValue decodes a value that is not a collection.
func readValue(k schemas.Kind, data []byte) (drivers.Value, error) {
	switch k {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(k, data), nil
	case schemas.Int:
		if len(data) == 4 {
			return drivers.Int(int32(binary.BigEndian.Uint32(data))), nil
		}
	case schemas.Boolean:
		if len(data) == 1 {
			return drivers.Boolean(data[0] != 0), nil
		}
	case schemas.UUID, schemas.TimeUUID:
		if len(data) == 16 {
			return drivers.ID(k, [16]byte(data)), nil
		}
	default:
		if len(data) == 8 {
			return drivers.Number(k, int64(binary.BigEndian.Uint64(data))), nil
		}
	}
	return drivers.Value{}, fmt.Errorf("a %s of %d bytes", k, len(data))
}
