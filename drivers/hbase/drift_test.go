package hbase

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestStored: the settings of a schema's tables are all that Apply makes of them,
// and the text of a layout reads back as that layout.
func TestStored(t *testing.T) {
	s := parse(t, strings.Replace(hintedSchema, "columns: {a: text, n: bigint}", "static: {title: text}\n    columns: {a: text, n: bigint}\n    indexes: {by_a: [a], by_k: [p, k]}", 1))
	st := newStore(&settings{}, drivers.Options{})
	own, err := st.Stored(s)
	if err != nil {
		t.Fatal(err)
	}
	mail, data := own.Table("mail"), own.Table("mail.data")
	if len(mail.Indexes) != 0 || len(own.Tables) != 2 || len(mail.Static) != 1 || data.Parent != mail {
		t.Errorf("stored: %s", schemas.Format(own))
	}
	for name, want := range map[string]string{
		"family": "m", "unsigned": "", "order": "", "compression": "gz", "bloom": "rowcol", "versions": "2", "block_size": "8192", "in_memory": "true",
		"data_block_encoding": "fast_diff", "block_cache": "true", "ttl": "0", "new_version_behavior": "true", "static.compression": "gz", "static.ttl": "0",
	} {
		if got, ok := mail.Hints["hbase"][name]; got != want || !ok {
			t.Errorf("setting %s is %q (%t), expected %q", name, got, ok, want)
		}
	}
	if h := data.Hints["hbase"]; h["family"] != "body" || h["unsigned"] != "c" || h["block_cache"] != "false" {
		t.Errorf("settings of mail.data: %v", h)
	}
	l, err := newLayout("x.", s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newLayout("x.", parse(t, "schema: 1\nname: hinted\ntables:\n"+l.tablesText(l.roots[0])))
	if err != nil {
		t.Fatal(err)
	}
	if ds := schemas.Diff(own, again.stored()); len(ds) > 0 {
		t.Errorf("read back, the schema differs: %v", ds)
	}
	if _, err := st.Stored(parse(t, strings.Replace(hintedSchema, "versions: 2", "version: 2", 1))); err == nil || !strings.Contains(err.Error(), `unknown hint "version"`) {
		t.Errorf("a hint that there is not: %v", err)
	}
}
