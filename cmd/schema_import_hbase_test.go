package cmd

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestImportHBaseLive: tables of somebody else's are imported from their descriptors and some rows. What
// was guessed is said; the schema is one that lint, diff and validate take.
func TestImportHBaseLive(t *testing.T) {
	contact := live.Contact(t, "hbase")
	logger := gohbase.Logger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	admin, client := gohbase.NewAdminClient(contact, logger), gohbase.NewClient(contact, logger)
	t.Cleanup(client.Close)
	prefix := "imported" + randomWord(t)
	create := func(table string, families map[string]map[string]string) {
		t.Helper()
		name := []byte(prefix + "." + table)
		if err := admin.CreateTable(hrpc.NewCreateTable(t.Context(), name, families)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := admin.DisableTable(hrpc.NewDisableTable(context.Background(), name)); err != nil {
				t.Error(err)
			}
			if err := admin.DeleteTable(hrpc.NewDeleteTable(context.Background(), name)); err != nil {
				t.Error(err)
			}
		})
	}
	put := func(table, row string, cells map[string]map[string][]byte) {
		t.Helper()
		m, err := hrpc.NewPutStr(t.Context(), prefix+"."+table, row, cells)
		if err == nil {
			_, err = client.Put(m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	create("orders", map[string]map[string]string{"d": {"VERSIONS": "3", "BLOOMFILTER": "ROWCOL"}, "events": nil})
	create("empty", map[string]map[string]string{"x": nil})
	number := func(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	for i := range 120 {
		events := make(map[string][]byte)
		for k := range 3 {
			events[string(number(1_700_000_000_000+1000*i+k))] = fmt.Appendf(nil, `{"k":%d}`, k)
		}
		put("orders", fmt.Sprintf("user%03d#%06d", i%7, i), map[string]map[string][]byte{
			"d":      {"total": number(i), "note": fmt.Appendf(nil, "order %d", i), "paid": {0xff * byte(i%2)}, "at": number(1_700_000_000_000 + i)},
			"events": events,
		})
	}
	m, file := &loaded{}, filepath.Join(t.TempDir(), "shop.yaml")
	at := func(args ...string) []string {
		return append(args, "-e", "hbase", "--contact", contact, "--namespace", prefix)
	}
	m.mailbench(t, exitOK, at("schema", "import", "-o", file)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"native: hbase", "  orders:\n    partition: [row_key text]", "at: bigint", "note: text", "paid: boolean", "total: bigint",
		"versions: 3", "bloom: rowcol", "marker: none", "family: d", "  orders.events:\n    in: orders\n    clustering: [qualifier bigint]",
		"value: text", "unsigned: qualifier", "  empty:\n    partition: [row_key blob]",
	} {
		if !strings.Contains(strings.ReplaceAll(string(text), `"`, ""), want) {
			t.Errorf("the schema does not say %q:\n%s", want, text)
		}
	}
	out := m.mailbench(t, exitOK, at("schema", "import")...)
	if !strings.Contains(out, "orders:") {
		t.Errorf("without -o it prints\n%s", out)
	}
	if out := m.mailbench(t, exitOK, at("schema", "validate", file)...); !strings.Contains(out, ": 0 rows broken, 0 left over") ||
		!strings.Contains(out, "orders  ") || !strings.Contains(out, " 360 ") {
		t.Errorf("validate says\n%s", out)
	}
	if out := m.mailbench(t, exitOK, at("schema", "diff", file)...); !strings.Contains(out, "no difference") {
		t.Errorf("diff says\n%s", out)
	}
	m.mailbench(t, exitOK, "schema", "lint", file)
}
