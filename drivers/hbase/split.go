package hbase

import (
	"bytes"
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
	s := &scanner{slot: sl}
	first, err := st.edge(ctx, s, nil, false)
	if err != nil || first == nil {
		return nil, err
	}
	last, err := st.edge(ctx, s, nil, true)
	if err != nil || last == nil {
		return nil, err
	}
	return keys.Divide(n, first, last, func(mid []byte) (before, from []byte, err error) {
		if before, err = st.edge(ctx, s, mid, true); err == nil {
			from, err = st.edge(ctx, s, mid, false)
		}
		return before, from, err
	})
}

// edge returns the first row key >= key, or with before the last one < key; nil if there is
// none. A nil key is the start of the table, or with before for its end.
func (st *statement) edge(ctx context.Context, s *scanner, key []byte, before bool) (row []byte, err error) {
	err = s.run(ctx, st.table.hbase, scanRange{
		start: key, reversed: before, skipStart: before && key != nil, left: func() int64 { return 1 },
		columns: []*pb.Column{{Family: []byte(st.view.family)}}, filter: firstOnly(),
	}, eachCell(func(c cell) error {
		row = bytes.Clone(c.row)
		return errDone
	}))
	return row, err
}
