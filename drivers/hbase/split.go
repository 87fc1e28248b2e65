package hbase

import (
	"context"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers/keys"
)

// split divides a scan into at most n parts, between the table's first and last row key. A part
// may cover several regions, and a region may have several parts. A wide row is in one part with
// all its cells.
func (st *statement) split(ctx context.Context, sl *slot, n int) (parts []*statement, err error) {
	at, err := st.divide(ctx, sl, n)
	for from, to := range keys.Ranges(at) {
		part := *st
		part.from, part.to = from, to
		parts = append(parts, &part)
	}
	return parts, err
}

// divide returns the row keys at which a table is divided.
func (st *statement) divide(ctx context.Context, sl *slot, n int) ([][]byte, error) {
	e := edge{scanner: scanner{slot: sl}, st: st}
	first, err := e.find(ctx, nil, false)
	if err != nil || first == nil {
		return nil, err
	}
	last, err := e.find(ctx, nil, true)
	if err != nil || last == nil {
		return nil, err
	}
	return keys.Divide(n, first, last, func(mid []byte) (before, from []byte, err error) {
		if before, err = e.find(ctx, mid, true); err == nil {
			from, err = e.find(ctx, mid, false)
		}
		return before, from, err
	})
}

// edge finds the next row of a table from a key on.
type edge struct {
	scanner
	st  *statement
	row []byte
}

// find returns the first row key >= key, or with before the last one < key; nil if there is
// none. A nil key is the start of the table, or with before for its end.
func (e *edge) find(ctx context.Context, key []byte, before bool) ([]byte, error) {
	e.row = nil
	err := e.run(ctx, e.st.table.hbase, scanRange{
		start: key, reversed: before, skipStart: before && key != nil, left: func() int64 { return 1 },
		columns: []*pb.Column{{Family: []byte(e.st.view.family)}}, filter: firstOnly(),
	}, e)
	return e.row, err
}

func (e *edge) take(c cell, _ uint64) error {
	e.row = append([]byte{}, c.row...)
	return errDone
}

func (e *edge) end() error  { return nil }
func (e *edge) restartRow() {}
