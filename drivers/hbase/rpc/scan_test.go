package rpc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// fakeServer answers scans out of rows of some cells each, a few cells at a
// time, and forgets its scanners on demand.
type fakeServer struct {
	rows    []string // each of cells cells
	cells   int
	step    int // cells in one answer
	fail    map[int]bool
	answers int

	at, cell, last int // of the open scanner: the next cell, and the end
	reversed, open bool
}

const unknownScanner = "org.apache.hadoop.hbase.UnknownScannerException"

func (f *fakeServer) send(c *ScanCall) (*pb.ScanResponse, error) {
	c.SetRegion(&fakeRegion{client: &fakeConn{}})
	request := c.ToProto().(*pb.ScanRequest)
	answer := c.NewResponse().(*pb.ScanResponse)
	if request.GetCloseScanner() {
		f.open = false
		return answer, nil
	}
	if f.answers++; f.fail[f.answers] {
		f.open = false
		return nil, fmt.Errorf("HBase Java exception %s:\n%[1]s: gone", unknownScanner)
	}
	switch scan := request.Scan; {
	case scan != nil:
		f.begin(scan)
	case !f.open:
		return nil, fmt.Errorf("HBase Java exception %s:\n%[1]s: none", unknownScanner)
	}
	answer.ScannerId = proto.Uint64(1)
	var block []byte
	for n := 0; n < f.step && f.at != f.last; {
		row, in := f.rows[f.at], uint32(0)
		for ; f.cell < f.cells && n < f.step; n++ {
			block = appendCell(block, []byte(row), &Op{family: "m", Qualifier: []byte(fmt.Sprint("c", f.cell)), value: []byte(row)})
			f.cell++
			in++
		}
		answer.CellsPerResult = append(answer.CellsPerResult, in)
		answer.PartialFlagPerResult = append(answer.PartialFlagPerResult, f.cell < f.cells)
		if f.cell == f.cells {
			f.cell = 0
			f.next()
		}
	}
	answer.MoreResults, answer.MoreResultsInRegion = proto.Bool(true), proto.Bool(f.at != f.last)
	f.open = f.at != f.last
	_, err := c.DeserializeCellBlocks(answer, block)
	return answer, err
}

func (f *fakeServer) next() {
	if f.reversed {
		f.at--
	} else {
		f.at++
	}
}

func (f *fakeServer) begin(scan *pb.Scan) {
	f.open, f.cell, f.reversed = true, 0, scan.GetReversed()
	start := string(scan.StartRow)
	f.at, f.last = slices.IndexFunc(f.rows, func(r string) bool { return r >= start }), len(f.rows)
	if f.reversed {
		f.at, f.last = len(f.rows)-1, -1
		for start != "" && f.at >= 0 && f.rows[f.at] > start {
			f.at--
		}
	}
	skip := bytes.Contains(scan.ProtoReflect().GetUnknown(), withoutStart)
	if skip && f.at >= 0 && f.rows[f.at] == start {
		f.next()
	}
}

var errEnough = errors.New("enough")

// collector writes down the rows that it is given, or the pieces of rows.
type collector struct {
	got  []string
	stop int // rows after which it wants no more
}

func (k *collector) take(row []Cell) error {
	var cells []string
	for _, c := range row {
		cells = append(cells, fmt.Sprintf("%s.%s", c.Row, c.Qualifier))
	}
	k.got = append(k.got, strings.Join(cells, " "))
	if len(k.got) == k.stop {
		return errEnough
	}
	return nil
}

// TestScanner reads rows that come in pieces, from a server that loses its
// scanners between any two of them: each row comes once, and whole, and so does each of its cells if they are
// taken in pieces.
func TestScanner(t *testing.T) {
	rows := []string{"a", "b", "c", "d"}
	want := []string{"a.c0 a.c1 a.c2", "b.c0 b.c1 b.c2", "c.c0 c.c1 c.c2", "d.c0 d.c1 d.c2"}
	for _, r := range []Range{{}, {Reversed: true}, {Pieces: true}} {
		for step := 1; step <= 13; step++ {
			for lost := 0; lost <= 12; lost++ {
				for gap := range 3 {
					f := &fakeServer{rows: rows, cells: 3, step: step, fail: map[int]bool{lost: true, lost + gap: true}}
					k := &collector{}
					if err := newFake(scanFunc(f.send), time.Minute).Scan(t.Context(), r, k.take); err != nil {
						t.Fatalf("%d cells an answer, lost at %d: %v", step, lost, err)
					}
					got, expected := k.got, slices.Clone(want)
					if r.Reversed {
						slices.Reverse(expected)
					}
					if r.Pieces {
						got, expected = []string{strings.Join(got, " ")}, []string{strings.Join(expected, " ")}
					}
					if !slices.Equal(got, expected) {
						t.Errorf("reversed %v, pieces %v, %d cells an answer, lost at %d and %d: %q", r.Reversed, r.Pieces, step, lost,
							lost+gap, k.got)
					}
					if f.open {
						t.Errorf("%d cells an answer, lost at %d: a scanner was left open", step, lost)
					}
				}
			}
		}
	}
	f := &fakeServer{rows: rows, cells: 3, step: 2, fail: make(map[int]bool)}
	k := &collector{stop: 2}
	if err := newFake(scanFunc(f.send), time.Minute).Scan(t.Context(), Range{}, k.take); err != errEnough || len(k.got) != 2 || f.open {
		t.Errorf("stopped after two rows: %q, %v; scanner left open: %v", k.got, err, f.open)
	}
	for n := range 50 {
		f.fail[n] = true
	}
	if err := newFake(scanFunc(f.send), time.Minute).Scan(t.Context(), Range{}, k.take); err == nil || !isOne(err, scannerGone) {
		t.Errorf("a server that loses every scanner: %v", err)
	}
	broken := errors.New("HBase Java exception java.io.IOException:\njava.io.IOException: disk")
	if err := newFake(scanFunc(func(*ScanCall) (*pb.ScanResponse, error) { return nil, broken }), time.Minute).Scan(t.Context(), Range{}, k.take); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("a scan that fails: %v", err)
	}
}

// eight returns a number as HBase has it.
func eight(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// TestFold leaves of several changes of one cell the last, and adds additions up.
func TestFold(t *testing.T) {
	var e Edit
	e.Table, e.Row, e.Ops = []byte("t"), []byte("r"), nil
	e.Do(Put, "m", []byte("b"), []byte("1"))
	e.Do(Put, "m", []byte("a"), []byte("2"))
	e.Do(Delete, "m", []byte("b"), nil)
	e.Do(Put, "data", []byte("a"), []byte("3"))
	e.Do(Delete, "m", []byte("a"), nil)
	e.Do(Put, "m", []byte("a"), []byte("4"))
	e.Do(Increment, "n", []byte("a"), eight(2))
	e.Do(Increment, "n", []byte("b"), eight(5))
	e.Do(Increment, "n", []byte("a"), eight(3))
	e.Do(DeleteAll, "n", nil, nil)
	e.Merge()
	var got []string
	for i := range e.Ops {
		o := &e.Ops[i]
		value := string(o.value)
		if o.Action == Increment {
			value = fmt.Sprint(binary.BigEndian.Uint64(o.value))
		}
		got = append(got, fmt.Sprintf("%s:%s %v %d %s", o.family, o.Qualifier, o.mutation, o.cell, value))
	}
	want := []string{
		"data:a PUT 4 3", "m:a PUT 4 4", "m:b DELETE 12 ", "n: DELETE 14 ", "n:a INCREMENT 4 5", "n:b INCREMENT 4 5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("folded to %q, expected %q", got, want)
	}
	large := make([]byte, MaxCell)
	e.Table, e.Row, e.Ops = []byte("t"), []byte("r"), nil
	e.Do(Put, "m", []byte("a"), large)
	if err := e.Check(); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("a cell of 10 MiB and its key: %v", err)
	}
	e.Ops = e.Ops[:0]
	for i := range 27 {
		e.Do(Put, "m", []byte(fmt.Sprint(i)), large[:MaxCell-100])
	}
	if err := e.Check(); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("270 MB in one request: %v", err)
	}
}

// TestScanEndsWithItsCaller: an error of the caller ends a scan and leaves out no row, also one that says that a scanner
// is gone: of another call.
func TestScanEndsWithItsCaller(t *testing.T) {
	for _, pieces := range []bool{false, true} {
		f, given := &fakeServer{rows: []string{"a", "b", "c"}, cells: 1, step: 1}, 0
		err := newFake(scanFunc(f.send), time.Minute).Scan(t.Context(), Range{Pieces: pieces}, func([]Cell) error {
			given++
			return NewException(unknownScanner, "of another scan")
		})
		if given != 1 || !isOne(err, scannerGone) {
			t.Errorf("pieces %v: %d rows were given, and the error is %v; want that of the first row", pieces, given, err)
		}
	}
}

// TestScanRequest pins the requests of a scan, with the fields that gohbase's copy of the protocol does not have: those
// that open a scanner, go on with it and close it.
func TestScanRequest(t *testing.T) {
	columns, left := []*pb.Column{{Family: []byte("m"), Qualifier: [][]byte{[]byte("a")}}}, int64(25)
	for _, c := range []struct {
		scan Range
		key  string
		want [3]string
	}{
		{
			Range{Start: []byte("b"), Stop: []byte("c"), Columns: columns, Filter: &pb.Filter{Name: proto.String("F")}, Left: &left},
			"b",
			[...]string{"0a0a08011206726567696f6e121c0a060a016d1201611a01622201632a030a01464001508080800178002019380140015819", "0a0a08011206726567696f6e18072019380140015819", "0a0a08011206726567696f6e18072000280138014001"},
		},
		{Range{}, "", [...]string{"0a0a08011206726567696f6e120940015080808001780020ffffffff0738014001", "0a0a08011206726567696f6e180720ffffffff0738014001", "0a0a08011206726567696f6e18072000280138014001"}},
		{
			Range{Start: []byte("c"), Stop: []byte("b"), SkipStart: true, Reversed: true, Columns: columns, Left: &left},
			"b" + string(lastRow[:16]),
			[...]string{"0a0a08011206726567696f6e121d0a060a016d1201611a0163220162400150808080017801a80100b001012019380140015819", "0a0a08011206726567696f6e18072019380140015819", "0a0a08011206726567696f6e18072000280138014001"},
		},
		{
			Range{Start: []byte("b"), Columns: columns, Filtered: true, Uncached: true},
			"b",
			[...]string{"0a0a08011206726567696f6e12160a080a016d12001201611a016240005080808001780020ffffffff07380140014801", "0a0a08011206726567696f6e180720ffffffff07380140014801", "0a0a08011206726567696f6e180720002801380140014801"},
		},
	} {
		n, failed := 0, errors.New("no more")
		err := newFake(scanFunc(func(sent *ScanCall) (*pb.ScanResponse, error) {
			sent.SetRegion(&fakeRegion{})
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(sent.ToProto())
			if got := hex.EncodeToString(b); err != nil || got != c.want[n] || string(sent.Key()) != c.key || sent.Name() != "Scan" {
				t.Errorf("request %d at %q: %s %s, %v; want %s at %q", n, sent.Key(), sent.Name(), got, err, c.want[n], c.key)
			}
			if n++; n == 2 {
				return nil, failed
			}
			return &pb.ScanResponse{ScannerId: proto.Uint64(7), MoreResultsInRegion: yes}, nil
		}), time.Minute).Scan(t.Context(), c.scan, nil)
		if n != 3 || err != failed {
			t.Errorf("%d requests, %v", n, err)
		}
	}
}

// TestScanLastPiece: a row whose last piece is said to be one of several comes once HBase has no more.
func TestScanLastPiece(t *testing.T) {
	answers, k := 0, &collector{}
	err := newFake(scanFunc(func(c *ScanCall) (*pb.ScanResponse, error) {
		c.SetRegion(&fakeRegion{client: &fakeConn{}})
		c.ToProto()
		answers++
		if answers == 2 {
			return &pb.ScanResponse{ScannerId: proto.Uint64(1), MoreResultsInRegion: proto.Bool(false)}, nil
		}
		answer := &pb.ScanResponse{
			ScannerId: proto.Uint64(1), MoreResultsInRegion: yes, CellsPerResult: []uint32{1}, PartialFlagPerResult: []bool{true},
		}
		_, err := c.DeserializeCellBlocks(answer, appendCell(nil, []byte("a"), &Op{family: "m", Qualifier: []byte("c0")}))
		return answer, err
	}), time.Minute).Scan(t.Context(), Range{}, k.take)
	if err != nil || answers != 2 || !slices.Equal(k.got, []string{"a.c0"}) {
		t.Errorf("rows %q in %d answers, %v", k.got, answers, err)
	}
}
