package modeltest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// dump writes down every row of every table, sorted. Long values are shown by
// length and digest.
func (f *fixture) dump() string {
	var b strings.Builder
	for _, table := range f.schema.Tables {
		if !table.Header() {
			f.dumpRows(&b, table, schemas.ScanOf(table))
		}
		if len(table.Static) > 0 {
			f.dumpRows(&b, table, schemas.StaticScanOf(table))
		}
	}
	return b.String()
}

func (f *fixture) dumpRows(b *strings.Builder, table *schemas.Table, p *schemas.Pattern) {
	f.t.Helper()
	var rows []string
	err := f.session().Read(f.ctx, f.prepare(p), nil, func(row []drivers.Value) error {
		var cells []string
		for i, c := range p.Columns {
			if !row[i].IsNull() {
				cells = append(cells, c.Name+"="+show(row[i]))
			}
		}
		rows = append(rows, strings.Join(cells, " "))
		return nil
	})
	if err != nil {
		f.t.Fatalf("scan %s: %v", table.Name, err)
	}
	slices.Sort(rows)
	static := ""
	if p.Static {
		static = " (static)"
	}
	fmt.Fprintf(b, "%s%s: %d rows\n", table.Name, static, len(rows))
	for _, r := range rows {
		fmt.Fprintf(b, "\t%s\n", r)
	}
}

// show writes a value for people. Texts and blobs of more than 60 bytes become length and
// digest.
func show(v drivers.Value) string {
	const most = 60
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		switch raw := v.Raw(); {
		case len(raw) > most:
			return fmt.Sprintf("%d bytes %.4x", len(raw), sha256.Sum256(raw))
		case v.Kind() == schemas.Blob:
			return fmt.Sprintf("0x%x", raw)
		default:
			return fmt.Sprintf("%q", raw)
		}
	case schemas.UUID, schemas.TimeUUID:
		u := v.UUIDBytes()
		return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	case schemas.Boolean:
		return fmt.Sprint(v.Bool())
	case schemas.Timestamp:
		return v.Time().Format("2006-01-02T15:04:05.000000Z")
	case schemas.Set, schemas.List, schemas.Map:
		var elems []string
		for _, e := range v.Elems() {
			elems = append(elems, show(e))
		}
		return "[" + strings.Join(elems, ", ") + "]"
	default:
		return fmt.Sprint(v.Int64())
	}
}
