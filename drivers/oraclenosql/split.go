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
		for from, to := range plan.Between(at) {
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
	find := func(sign, order string) (*query, error) {
		b := &builder{}
		fmt.Fprintf(b, "SELECT %s FROM %s", first.name, st.table.full)
		if sign != "" {
			b.where("%s %s %s", first.name, sign, b.variable("low", bindLow, first))
		}
		fmt.Fprintf(b, " ORDER BY %s%s LIMIT 1", names(st.table.shardKey()), order)
		one := &statement{Plan: st.Plan, queries: []*query{b.done()}}
		return one.queries[0], s.prepare(ctx, one)
	}
	key := func(q *query, at []byte) (found []byte, err error) {
		r := &reading{slot: se.slot, ctx: ctx, st: st, in: inputs{low: first.bound(at)}}
		err = r.each(q, func(row *types.MapValue) error {
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
	var queries [4]*query
	for i, how := range [][2]string{{"", ""}, {"", " DESC"}, {"<", " DESC"}, {">=", ""}} {
		if queries[i], err = find(how[0], how[1]); err != nil {
			return nil, err
		}
	}
	lowest, err := key(queries[0], nil)
	if err != nil || lowest == nil {
		return nil, err
	}
	highest, err := key(queries[1], nil)
	if err != nil || highest == nil {
		return nil, err
	}
	return keys.Divide(n, lowest, highest, func(mid []byte) (before, from []byte, err error) {
		if before, err = key(queries[2], mid); err == nil {
			from, err = key(queries[3], mid)
		}
		return before, from, err
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
