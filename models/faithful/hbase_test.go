package faithful

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math"
	"slices"
	"testing"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/models"
)

// The families of James' rows.
const (
	metadata = "m"
	data     = "data"
)

// hbshell is a model on the HBase that tests share, and a bare gohbase client.
type hbshell struct {
	*world
	gohbase.Client
}

func onHBase(t *testing.T, model models.Model, o models.Options) *hbshell {
	t.Helper()
	contact := live.Contact(t, "hbase")
	w := newWorld(t, hbase.Engine(), contact, model, o)
	client := gohbase.NewClient(contact, gohbase.Logger(slog.New(slog.DiscardHandler)))
	t.Cleanup(client.Close)
	return &hbshell{w, client}
}

// in runs a part of the test on the same data.
func (h *hbshell) in(name string, part func(*hbshell)) {
	h.Run(name, func(t *testing.T) { part(&hbshell{h.part(t), h.Client}) })
}

// table returns what a table of the source design is called.
func (h *hbshell) table(name string) []byte {
	return []byte(drivers.Prefix + h.namespace + "_" + h.model.Name + "." + name)
}

// hrow is a row as HBase has it.
type hrow struct {
	key   []byte
	cells []*hrpc.Cell
}

// cell returns the value of a column, nil if it is not there.
func (r *hrow) cell(family, qualifier string) []byte {
	for _, c := range r.cells {
		if string(c.Family) == family && string(c.Qualifier) == qualifier {
			return c.Value
		}
	}
	return nil
}

// family returns the columns of a family, but for the driver's marker.
func (r *hrow) family(name string) map[string][]byte {
	columns := make(map[string][]byte)
	for _, c := range r.cells {
		if string(c.Family) == name && string(c.Qualifier) != rowMarker {
			columns[string(c.Qualifier)] = c.Value
		}
	}
	return columns
}

// equal compares rows cell by cell with their timestamps.
func (r hrow) equal(o hrow) bool {
	return bytes.Equal(r.key, o.key) && slices.EqualFunc(r.cells, o.cells, func(a, b *hrpc.Cell) bool {
		return bytes.Equal(a.Family, b.Family) && bytes.Equal(a.Qualifier, b.Qualifier) && bytes.Equal(a.Value, b.Value) &&
			*a.Timestamp == *b.Timestamp
	})
}

// scan returns all rows from start up to stop, nil: all, in HBase's order.
func (h *hbshell) scan(table string, start, stop []byte, options ...func(hrpc.Call) error) (rows []hrow) {
	h.Helper()
	s, err := hrpc.NewScanRange(h.ctx, h.table(table), start, stop, options...)
	h.must(err)
	scanner := h.Scan(s)
	for {
		r, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		h.must(err)
		rows = append(rows, hrow{r.Cells[0].Row, r.Cells})
	}
}

// of restricts a scan to one family.
func of(family string) func(hrpc.Call) error {
	return hrpc.Families(map[string][]string{family: nil})
}

// messages scans the rows of a mailbox: all that begin with its UUID.
func (h *hbshell) messages(mailbox [16]byte, options ...func(hrpc.Call) error) []hrow {
	h.Helper()
	return h.scan("JAMES_MESSAGES", mailbox[:], step(mailbox, 1), options...)
}

func (h *hbshell) put(table string, key []byte, values map[string]map[string][]byte) {
	h.Helper()
	p, err := hrpc.NewPut(h.ctx, h.table(table), key, values)
	h.must(err)
	_, err = h.Put(p)
	h.must(err)
}

// rowKey is the source design's key of a message: the mailbox's UUID, then the UID
// in reverse order.
func rowKey(mailbox [16]byte, uid int64) []byte {
	return append(mailbox[:], number(math.MaxInt64-uid)...)
}

// number is a number as HBase's class Bytes writes it.
func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// step returns the UUID before (-1) or after (1) another.
func step(id [16]byte, by int) []byte {
	for i := len(id) - 1; i >= 0; i-- {
		id[i] += byte(by)
		if by > 0 && id[i] != 0 || by < 0 && id[i] != 0xff {
			break
		}
	}
	return id[:]
}

// boolean is one as HBase's class Bytes writes it.
func boolean(on bool) []byte {
	if on {
		return []byte{0xff}
	}
	return []byte{0}
}
