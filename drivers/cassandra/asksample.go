package cassandra

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
)

// rows are those that a sample has read.
type rows struct {
	columns []string
	types   []gocql.TypeInfo
	all     [][]rawValue
	firsts  []int // the first row of each partition
}

// sample reads rows of a table that have values for all parameters.
func (s *Store) sample(ctx context.Context, table string, parameters []parameter) (*rows, error) {
	r := new(rows)
	var selected []string
	for _, p := range parameters {
		switch {
		case p.column == "" || slices.Contains(r.columns, p.column):
			continue
		case p.column == tokenParameter:
			selected = append(selected, "") // below
		case p.in == "" && p.typ.Type() == gocql.TypeTuple:
			return nil, fmt.Errorf("%w: %s is a tuple", drivers.ErrNoValues, p.name)
		default:
			selected = append(selected, ddl.Quote(p.column))
		}
		r.columns = append(r.columns, p.column)
	}
	if len(selected) == 0 {
		r.all, r.firsts = [][]rawValue{nil}, []int{0}
		return r, nil
	}
	key, err := s.partitionKey(ctx, table)
	if err != nil {
		return nil, err
	}
	token := "token(" + key + ")"
	for i := range selected {
		if selected[i] == "" {
			selected[i] = token
		}
	}
	text := fmt.Sprintf("SELECT %s, %s FROM %s PER PARTITION LIMIT %d LIMIT %d",
		strings.Join(selected, ", "), token, table, rowsInOne, sampledRows)
	it := s.session.Query(text).Consistency(s.settings.consistency).WithContext(ctx).Iter()
	for _, col := range it.Columns() {
		r.types = append(r.types, col.TypeInfo)
	}
	var before rawValue
	for n := len(selected); ; {
		row := make([]rawValue, n+1)
		dest := make([]any, n+1)
		for i := range row {
			dest[i] = &row[i]
		}
		if !it.Scan(dest...) {
			break
		}
		if slices.ContainsFunc(row, func(v rawValue) bool { return v == nil }) {
			continue
		}
		if len(r.all) == 0 || string(row[n]) != string(before) {
			r.firsts = append(r.firsts, len(r.all))
		}
		r.all, before = append(r.all, row), row[n]
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("read values for its parameters: %w", readError(err))
	}
	if len(r.all) == 0 {
		return nil, fmt.Errorf("%w: no row among the first of %s has values of %s", drivers.ErrNoValues, table,
			strings.Join(r.columns, ", "))
	}
	return r, nil
}

// partitionKey returns the columns of a table's partition key, as token() takes them.
func (s *Store) partitionKey(ctx context.Context, table string) (string, error) {
	keyspace, name, _ := strings.Cut(table, ".")
	query := s.session.Query("SELECT column_name, kind, position FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
		unquote(keyspace), unquote(name))
	var column, kind string
	var position int
	columns := make(map[int]string)
	err := scan(query.WithContext(ctx), func() {
		if kind == "partition_key" {
			columns[position] = ddl.Quote(column)
		}
	}, &column, &kind, &position)
	if err != nil {
		return "", readError(err)
	}
	var all []string
	for i := range len(columns) {
		all = append(all, columns[i])
	}
	return strings.Join(all, ", "), nil
}

// unquote returns the name that Quote wrote.
func unquote(name string) string { return strings.ReplaceAll(strings.Trim(name, `"`), `""`, `"`) }

// starts returns up to most rows of different partitions, or of fewer if there are no more.
func (s *rows) starts(most int) (all []int) {
	all = slices.Clone(s.firsts)
	for i := range s.all {
		if !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	return all[:min(len(all), most)]
}

// partition returns the rows of the partition in which a row is.
func (s *rows) partition(row int) (from, to int) {
	from, to = 0, len(s.all)
	for _, first := range s.firsts {
		if first <= row {
			from = first
		} else {
			return from, first
		}
	}
	return from, to
}

// value returns a parameter's value for a row.
func (p *parameter) value(s *rows, row int) rawValue {
	at := slices.Index(s.columns, p.column)
	switch {
	case at < 0:
		return binary.BigEndian.AppendUint32(nil, limitAsked) // LIMIT, PER PARTITION LIMIT
	case p.in == "in":
		return s.list(at, row)
	case p.in != "":
		return element(s.all[row][at], p.in, s.types[at].Type())
	case p.end == "":
		return s.all[row][at]
	}
	from, to := s.partition(row)
	if p.column == tokenParameter {
		from, to = 0, len(s.all)
	}
	best := s.all[row][at]
	for _, other := range s.all[from:to] {
		c := compare(valueOf(s.types[at], other[at]), valueOf(s.types[at], best))
		if p.end == "<" && c > 0 || p.end == ">" && c < 0 {
			best = other[at]
		}
	}
	return best
}

// list returns a list of a column's values, that of the row and a few others.
func (s *rows) list(at, row int) rawValue {
	var elems []drivers.Value
	for i := range s.all {
		v := drivers.Blob(s.all[(row+i)%len(s.all)][at])
		if len(elems) < elementsAsked && !slices.ContainsFunc(elems, v.Equal) {
			elems = append(elems, v)
		}
	}
	return appendValue(nil, drivers.ListOf(elems))
}

// element returns the first element of a collection, or the key or value of the first of a map.
func element(collection rawValue, what string, typ gocql.Type) rawValue {
	m := metadata{rest: collection}
	m.number(4) // of elements
	if what == "value" && typ == gocql.TypeMap {
		m.skip(m.number(4))
	}
	size := m.number(4)
	if m.short || size < 0 || size > len(m.rest) {
		return nil
	}
	return m.rest[:size]
}
