package hbase

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// checkAtomic returns an error if the batch is atomic and HBase cannot apply its parts at once.
func (st *statement) checkAtomic() error {
	a := st.Pattern().Atomic
	for i := 0; i < len(st.parts) && a != schemas.AtomicNone; i++ {
		if err := st.parts[i].atomic(a, st.parts, i); err != nil {
			return fmt.Errorf("atomic: %s: %w: %w", a, err, drivers.ErrUnsupported)
		}
	}
	return nil
}

// atomic returns an error if the statement, which is parts[at], cannot be in one edit of an
// HBase row together with the parts before it.
func (st *statement) atomic(a schemas.Atomicity, parts []*statement, at int) error {
	p, t := st.Pattern(), st.table
	switch {
	case a == schemas.AtomicAll:
		return errors.New("HBase changes only one row atomically")
	case a != schemas.AtomicRow && st.rowColumns() != len(p.Table.Partition):
		return fmt.Errorf("each row of table %s is an HBase row, and HBase changes only one atomically", t.schema.Name)
	case st.searches() && !slices.ContainsFunc(parts, st.deletedWith):
		return fmt.Errorf("part %s must first read which cells it deletes", p.Name)
	case p.Kind == schemas.PutIf || p.ReturnsNew:
		return fmt.Errorf("part %s depends on the stored row", p.Name)
	}
	for _, o := range parts[:at+1] {
		if !bytes.Equal(o.table.hbase, t.hbase) || o.rowColumns() != st.rowColumns() {
			return fmt.Errorf("parts %s and %s are of different HBase rows", o.Pattern().Name, p.Name)
		}
		if o.table.family != t.family || o.Pattern().Static != p.Static {
			continue
		}
		if st.deletesRow() != o.deletesRow() {
			return fmt.Errorf("one of the parts %s and %s deletes the row, and HBase would also delete what the other writes",
				o.Pattern().Name, p.Name)
		}
		if o.table == t && (p.Kind == schemas.Add) != (o.Pattern().Kind == schemas.Add) {
			return fmt.Errorf("one of the parts %s and %s adds to columns of a table, and the other writes to it",
				o.Pattern().Name, p.Name)
		}
	}
	return nil
}

// rowColumns returns how many columns of the primary key are in the HBase row key.
func (st *statement) rowColumns() int {
	if st.Pattern().Static {
		return len(st.table.static)
	}
	return len(st.table.row)
}

// deletesRow reports whether the statement deletes a family of an HBase row.
func (st *statement) deletesRow() bool {
	p := st.Pattern()
	return p.Kind == schemas.Delete && (!st.table.wide() || len(p.By) == len(st.table.row))
}

// deletedWith reports whether one deletion of a family does what both statements do: st
// deletes all rows of a nested table below a row, other deletes that row, and both tables
// share the family. Without other, st would have to search for its cells.
func (st *statement) deletedWith(other *statement) bool {
	return st.table.host != nil && st.table.host == other.table && st.deletesRow() && other.deletesRow() &&
		!other.searches()
}

// searches reports whether the write must first find what it deletes. One delete of HBase
// removes a column, a family or a whole row, but not several rows.
func (st *statement) searches() bool {
	p, t := st.Pattern(), st.table
	switch p.Kind {
	case schemas.Remove:
		return true
	case schemas.Delete:
		if len(t.statics) == 0 && (len(p.By) == len(t.key) || t.host == nil && t.isWideRow(len(p.By))) {
			return false
		}
		return p.Scope != schemas.ScopeRow
	}
	return false
}
