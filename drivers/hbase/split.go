package hbase

import (
	"bytes"
	"context"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
)

// split divides a scan into at most n parts, between the table's first and last row key. A part
// may cover several regions, and a region may have several parts. A wide row is in one part with
// all its cells.
func (st *statement) split(ctx context.Context, s *rpc.Sender, n int) (parts []*statement, err error) {
	at, err := st.divide(ctx, s, n)
	for from, to := range keys.Ranges(at) {
		parts = append(parts, st.within(from, to))
	}
	return parts, err
}

// within returns the part of a scan between two row keys.
func (st *statement) within(from, to []byte) *statement {
	part := *st
	part.from, part.to = from, to
	return &part
}

// divide returns the row keys at which a table is divided.
func (st *statement) divide(ctx context.Context, s *rpc.Sender, n int) ([][]byte, error) {
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
func (st *statement) edge(ctx context.Context, s *rpc.Sender, key []byte, before bool) (row []byte, err error) {
	err = s.Scan(ctx, rpc.Range{
		Table: st.table.hbase, Start: key, Reversed: before, SkipStart: before && key != nil, Left: func() int64 { return 1 },
		Columns: []*pb.Column{{Family: []byte(st.view.family)}}, Filter: firstOnly(),
	}, rpc.EachCell(func(c *rpc.Cell) error {
		row = bytes.Clone(c.Row)
		return rpc.ErrDone
	}))
	return row, err
}
