package oraclenosql

import (
	"context"
	"fmt"
	"strings"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Split implements drivers.Splitter. Its parts are ranges of the first column of the shard
// key, if that is a string. (Oracle can read one hash partition alone, by partition($row) = n,
// but the proxy does not report how many there are.)
func (s *Store) Split(ctx context.Context, scan drivers.Statement, n int) ([]drivers.Statement, error) {
	return plan.Parts(&s.gate, scan, func(st *statement) (parts []*statement, err error) {
		at, err := s.divide(ctx, st, n)
		if err != nil {
			return nil, err
		}
		first := fieldOf(st.table.fullKey()[0])
		for from, to := range keys.Ranges(at) {
			one := *st
			if from != nil {
				one.low = first.bound(from)
			}
			if to != nil {
				one.high = first.bound(to)
			}
			one.queries = []*query{st.selection(0, &part{from != nil, to != nil})}
			one.listed = nil
			if err := s.prepare(ctx, &one); err != nil {
				return nil, err
			}
			parts = append(parts, &one)
		}
		return parts, nil
	})
}

// divide returns the keys at which parts begin.
func (s *Store) divide(ctx context.Context, st *statement, n int) ([][]byte, error) {
	first := fieldOf(st.table.fullKey()[0])
	if !strings.HasPrefix(first.sqlType(), "STRING") || n < 2 {
		return nil, nil
	}
	se, err := s.session()
	if err != nil {
		return nil, err
	}
	defer se.Close()
	const lowest, highest, before, from = 0, 1, 2, 3
	find := &statement{Plan: st.Plan}
	for _, how := range [][2]string{lowest: {"", ""}, highest: {"", " DESC"}, before: {"<", " DESC"}, from: {">=", ""}} {
		b := &builder{}
		fmt.Fprintf(b, "SELECT %s FROM %s", first.name, st.table.full)
		if sign := how[0]; sign != "" {
			b.where("%s %s %s", first.name, sign, b.variable("low", bindLow, first))
		}
		fmt.Fprintf(b, " ORDER BY %s%s LIMIT 1", names(st.table.shardKey()), how[1])
		find.queries = append(find.queries, b.done())
	}
	if err := s.prepare(ctx, find); err != nil {
		return nil, err
	}
	key := func(which int, at []byte) (found []byte, err error) {
		r := &reading{slot: se.slot, ctx: ctx, st: st, in: inputs{low: first.bound(at)}}
		err = r.each(find.queries[which], func(row *types.MapValue) error {
			text, _ := row.GetString(first.name)
			found = []byte(text)
			if first.typ.Kind == schemas.UUID {
				u, err := drivers.ParseUUID(text)
				found = u[:]
				return err
			}
			return nil
		})
		return found, err
	}
	low, err := key(lowest, nil)
	if err != nil || low == nil {
		return nil, err
	}
	high, err := key(highest, nil)
	if err != nil || high == nil {
		return nil, err
	}
	return keys.Divide(n, low, high, func(mid []byte) (last, next []byte, err error) {
		if last, err = key(before, mid); err == nil {
			next, err = key(from, mid)
		}
		return last, next, err
	})
}

// bound returns bytes at which a part of a scan begins as the SDK takes them: a string, or a
// UUID of which they are the first bytes.
func (f field) bound(b []byte) any {
	if f.typ.Kind != schemas.UUID {
		return strings.ToValidUTF8(string(b), "\x7f")
	}
	var u [16]byte
	copy(u[:], b)
	return string(drivers.AppendUUID(nil, u))
}

// shardKey returns the columns that say on which shard a row lies.
func (t *table) shardKey() []*schemas.Column {
	for t.parent != nil {
		t = t.parent
	}
	return t.shard
}
