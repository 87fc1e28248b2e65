package hbase

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

// TestTolerate plants cells that are no values of their columns, with a bare client.
// A tolerant session yields them as broken; any other one fails.
func TestTolerate(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, tiesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	scan := func(table string) *statement {
		p, err := st.Prepare(t.Context(), schemas.ScanOf(s.Table(table)))
		if err != nil {
			t.Fatal(err)
		}
		return p.(*statement)
	}
	mail, links := scan("mail"), scan("links")
	client := gohbase.NewClient(live.Contact(t, "hbase"), gohbase.Logger(quiet))
	defer client.Close()
	put := func(tb *table, row []byte, cells map[string]string) {
		t.Helper()
		values := map[string][]byte{}
		for qualifier, value := range cells {
			values[qualifier] = []byte(value)
		}
		p, err := hrpc.NewPut(t.Context(), tb.hbase, row, map[string]map[string][]byte{tb.family: values})
		if err == nil {
			_, err = client.Put(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	row := func(p string, k int32) []byte {
		key, err := mail.table.row.Append(nil, 0, []drivers.Value{drivers.Text(p), drivers.Int(k)})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	put(mail.table, row("p", 1), map[string]string{markerName: "", "a": "right", "n": "12345678"})
	put(mail.table, row("p", 2), map[string]string{markerName: "", "n": "123", "tags": "12345678", "tags\x00x": "1234"})
	put(mail.table, []byte("p"), map[string]string{markerName: "", "a": "key"})
	put(links.table, []byte("p"), map[string]string{"\x80\x00\x00\x01": "", "\x80": ""})
	session, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	rows := func(st drivers.Statement) (rows []string, err error) {
		err = session.Read(t.Context(), st, nil, func(row []drivers.Value) error {
			var b bytes.Buffer
			for _, v := range slices.Concat(row, row[len(row)-1].Elems()) {
				if v.Broken() {
					fmt.Fprintf(&b, " broken %q", v.Raw())
				} else {
					fmt.Fprintf(&b, " %s", v.Kind())
				}
			}
			rows = append(rows, b.String())
			return nil
		})
		return rows, err
	}
	for _, p := range []*statement{mail, links} {
		if got, err := rows(p); err == nil {
			t.Errorf("%s is read without an error: %q", p.table.schema.Name, got)
		}
	}
	session.Tolerate(true)
	for p, want := range map[*statement][]string{
		mail: {
			` broken "p" broken "p" text null null`,
			` text int text bigint null`,
			` text int null broken "123" set broken "1234"`,
		},
		links: {` text broken "\x80"`, ` text int`},
	} {
		got, err := rows(p)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", p.table.schema.Name, err, diff)
		}
	}
}
