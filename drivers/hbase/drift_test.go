package hbase

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/schemas"
)

// TestStored: the settings of a schema's tables are all that Apply makes of them,
// and what is read back of a layout's text is the layout.
func TestStored(t *testing.T) {
	s := parse(t, strings.Replace(hintedSchema, "columns: {a: text, n: bigint}", "static: {title: text}\n    columns: {a: text, n: bigint}\n    indexes: {by_a: [a]}", 1))
	st := &Store{}
	own, err := st.Stored(s)
	if err != nil {
		t.Fatal(err)
	}
	mail, data := own.Table("mail"), own.Table("mail.data")
	if mail.Indexes != nil || len(mail.Static) != 1 || data.Parent != mail {
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

// TestDrift changes a table by hand. All that has changed is told, and Apply
// takes none of it for the schema.
func TestDrift(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, hintedSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want, err := st.Stored(s)
	if err != nil {
		t.Fatal(err)
	}
	differences := func() []string {
		have, err := st.Inspect(t.Context(), s.Name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range schemas.Diff(want, have) {
			got = append(got, d.String())
		}
		return got
	}
	if got := differences(); got != nil {
		t.Fatalf("of what Apply has made, %q", got)
	}
	name := prefixOf(st.namespace, s.Name) + "mail"
	tables, err := st.describe(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	family := maps.Clone(tables[name].Families["m"])
	family["TTL"], family["COMPRESSION"] = "86400", "NONE"
	changed := &pb.ColumnFamilySchema{Name: []byte("m")}
	for setting, value := range family {
		changed.Attributes = append(changed.Attributes, pair(setting, value))
	}
	for _, err := range []error{
		st.askMaster(t.Context(), "ModifyColumn", &pb.ModifyColumnRequest{TableName: tableName(name), ColumnFamilies: changed}, &pb.ModifyColumnResponse{}),
		st.askMaster(t.Context(), "AddColumn", &pb.AddColumnRequest{TableName: tableName(name), ColumnFamilies: &pb.ColumnFamilySchema{Name: []byte("more")}}, &pb.AddColumnResponse{}),
		st.askMaster(t.Context(), "DeleteColumn", &pb.DeleteColumnRequest{TableName: tableName(name), ColumnName: []byte("body")}, &pb.DeleteColumnResponse{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	expected := []string{
		"table mail.data is missing",
		"setting hbase.ttl of table mail is 86400; it should be 0",
		"setting hbase.compression of table mail is none; it should be gz",
		"table mail:more is there and should not be",
	}
	ctx, cancel := context.WithTimeout(t.Context(), tableTimeout)
	defer cancel()
	got := differences()
	for !slices.Equal(got, expected) { // the master takes its time
		if err := sleep(ctx, pollInterval); err != nil {
			t.Fatalf("found\n  %s\nexpected\n  %s", strings.Join(got, "\n  "), strings.Join(expected, "\n  "))
		}
		got = differences()
	}
	if err := st.Apply(t.Context(), s); err == nil || !strings.Contains(err.Error(), expected[1]) {
		t.Errorf("the schema was applied over it: %v", err)
	}
}
