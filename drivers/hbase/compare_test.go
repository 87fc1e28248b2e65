package hbase

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

const driftingSchema = `
schema: 1
name: drifting
tables:
  mail:
    partition: [p uuid]
    clustering: [k bigint desc]
    static: {title: text}
    columns: {a: text, n: bigint}
    hints: {hbase: {compression: gz, bloom: rowcol, unsigned: k}}
  mail.data: {parent: mail, clustering: [c bigint], columns: {data: blob}, hints: {hbase: {family: body}}}
  words: {partition: [w text], columns: {a: text, b: text}}
  plain: {partition: [w text], columns: {a: text, b: text}}
patterns:
  all: {scan: mail}
  put: {put: mail}
`

// drift is a change of a table's descriptor by hand, and the differences that Compare
// must report. If the change is nil, the table is dropped.
type drift struct {
	table    string
	change   func(d *TableDescription)
	expected []string
}

// rounds are changes that are made and fixed together. left is what remains after the
// statements that fix them.
var rounds = []struct {
	drifts []drift
	left   func(d *TableDescription) // fixes in the table mail what no command fixes
}{
	{
		drifts: []drift{
			{"mail", func(d *TableDescription) { delete(d.Families, "body") }, []string{"calls fail: table mail.data is missing"}},
			{"words", nil, []string{"calls fail: table words is missing"}},
			{
				"mail", func(d *TableDescription) { delete(d.Families, staticFamily) },
				[]string{"calls fail: table mail has no column title; it should have a static column of type text"},
			},
			{
				"mail", func(d *TableDescription) { d.Attributes["READONLY"] = "true" },
				[]string{"calls fail: setting hbase.readonly of table mail is true; it should be false"},
			},
			{
				"mail", func(d *TableDescription) { d.Families["m"]["TTL"] = "86400" },
				[]string{"rows are lost or wrong: setting hbase.ttl of table mail is 86400; it should be 0"},
			},
			{
				"plain", func(d *TableDescription) { d.Attributes["DURABILITY"] = "SKIP_WAL" },
				[]string{"rows are lost or wrong: setting hbase.durability of table plain is SKIP_WAL; it should be USE_DEFAULT"},
			},
			{
				"mail", func(d *TableDescription) {
					d.Families["m"]["COMPRESSION"], d.Families["m"]["BLOOMFILTER"], d.Families["m"]["VERSIONS"] = "NONE", "NONE", "5"
				},
				[]string{
					"other costs: setting hbase.bloom of table mail is none; it should be rowcol",
					"other costs: setting hbase.compression of table mail is none; it should be gz",
					"other costs: setting hbase.versions of table mail is 5; it should be 1",
				},
			},
			{
				"plain", func(d *TableDescription) { d.Families["m"]["KEEP_DELETED_CELLS"] = "TRUE" },
				[]string{"other costs: setting hbase.keep_deleted_cells of table plain is true; it should be false"},
			},
			{
				"plain", func(d *TableDescription) { d.Attributes["hbase.hregion.memstore.block.multiplier"] = "8" },
				[]string{"other costs: setting hbase.hregion.memstore.block.multiplier of table plain is 8; it should be not set"},
			},
			{
				"plain", func(d *TableDescription) { d.Families["m"]["CACHE_DATA_ON_WRITE"] = "true" },
				[]string{"other costs: setting hbase.m.cache_data_on_write of table plain is true; it should be false"},
			},
			{
				"mail", func(d *TableDescription) { d.Families["more"] = maps.Clone(d.Families["m"]) },
				[]string{"not in the schema: table mail:more is there and should not be"},
			},
		},
		left: func(d *TableDescription) { delete(d.Families, "more") },
	},
	{ // the mark of a table that was made by another schema
		drifts: []drift{{
			"mail", func(d *TableDescription) {
				d.Attributes[attrTables] = strings.NewReplacer("k bigint desc", "k bigint", "n: bigint", "n: text\n      x: int", "c bigint", "j bigint",
					"unsigned: k", "in_memory: \"false\"").Replace(d.Attributes[attrTables])
			},
			[]string{
				"calls fail: the key of table mail.data is in mail, clustering [j bigint]; it should be in mail, clustering [c bigint]",
				"calls fail: column n of table mail is text; it should be bigint",
				"calls fail: setting hbase.unsigned of table mail is not set; it should be k",
				"rows are lost or wrong: column k of table mail is ascending; it should be descending",
				"not in the schema: table mail has a column x (a plain column of type int) and should not",
			},
		}},
		left: func(d *TableDescription) { d.Attributes[attrTables] = "" },
	},
}

// TestDrift makes every kind of drift by hand. Each is reported, the worst first, and the
// reported statement fixes it.
func TestDrift(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, driftingSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	keyspace := drivers.Prefix + st.Namespace + "_" + s.Name
	l, err := newLayout(keyspace+".", s)
	if err != nil {
		t.Fatal(err)
	}
	o := drivers.Options{Contact: []string{live.Contact(t, "hbase")}, ReadOnly: true, Keyspace: keyspace}
	reader, err := Engine().Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	t.Cleanup(func() { // with what carries no mark
		for _, r := range l.roots {
			if err := st.dropTable(context.Background(), r.Name); err != nil {
				t.Error(err)
			}
		}
	})
	compare := func() []drivers.Drift {
		t.Helper()
		c, err := drivers.Compare(t.Context(), reader, s)
		if err != nil {
			t.Fatal(err)
		}
		return c.Drifts
	}
	clean := func(when string) {
		t.Helper()
		if left := compare(); len(left) > 0 {
			t.Fatalf("%s: %q", when, inWords(left))
		}
	}
	clean("of what Apply has made")
	for _, round := range rounds {
		changed := make(map[string]TableDescription)
		var expected []string
		for _, d := range round.drifts {
			expected = append(expected, d.expected...)
			if d.change == nil {
				if err := st.dropTable(t.Context(), keyspace+"."+d.table); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if _, ok := changed[d.table]; !ok {
				changed[d.table] = described(t, st, keyspace+"."+d.table)
			}
			table := changed[d.table]
			d.change(&table)
		}
		for _, table := range changed {
			modify(t, st, table)
		}
		found := compare()
		if got := inWords(found); !slices.Equal(got, expected) {
			t.Fatalf("found\n  %s\nexpected\n  %s", strings.Join(got, "\n  "), strings.Join(expected, "\n  "))
		}
		for _, d := range found {
			if len(d.Fix) == 0 {
				t.Errorf("nothing is said to mend %s", d)
			}
			for _, c := range d.Fix {
				mendBy(t, st, c)
			}
		}
		if round.left != nil {
			mail := described(t, st, keyspace+".mail")
			round.left(&mail)
			if mail.Attributes[attrTables] == "" {
				mail.Attributes[attrTables] = l.tablesText(l.roots[0])
			}
			modify(t, st, mail)
		}
		clean("mended")
	}

	clone := described(t, st, keyspace+".plain")
	clone.Name = keyspace + ".clone"
	var created pb.CreateTableResponse
	requested(t, st, "CreateTable", &pb.CreateTableRequest{TableSchema: clone.message()}, &created)
	defer func() {
		if err := st.dropTable(context.Background(), clone.Name); err != nil {
			t.Error(err)
		}
	}()
	if got := inWords(compare()); !slices.Equal(got, []string{"not in the schema: table clone is there and should not be"}) {
		t.Errorf("of a clone: %q", got)
	}
}

// TestDriftForeign compares a namespace of HBase that mailbench did not create, and reads
// from it. Families are compared, and the rest is reported as not compared.
func TestDriftForeign(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, driftingSchema)
	keyspace := "mailbenchtest" + st.Namespace
	namespace := &pb.NamespaceDescriptor{Name: []byte(keyspace)}
	err := st.askMaster(t.Context(), "CreateNamespace", &pb.CreateNamespaceRequest{NamespaceDescriptor: namespace}, &pb.CreateNamespaceResponse{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(keyspace+":", s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, r := range l.roots {
			if err := st.dropTable(context.Background(), r.Name); err != nil {
				t.Error(err)
			}
		}
		request := &pb.DeleteNamespaceRequest{NamespaceName: proto.String(keyspace)}
		if err := st.askMaster(context.Background(), "DeleteNamespace", request, &pb.DeleteNamespaceResponse{}); err != nil {
			t.Error(err)
		}
	}()
	for _, r := range l.roots {
		d := (&place{layout: l}).descriptor(r)
		clear(d.Attributes)
		create := func() error {
			return st.run(t.Context(), "CreateTable", &pb.CreateTableRequest{TableSchema: d.message()}, new(pb.CreateTableResponse))
		}
		err := create()
		for rpc.IsClass(err, "NamespaceNotFoundException") { // the master is still at it
			if err = drivers.Pause(t.Context(), pollInterval); err == nil {
				err = create()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o := drivers.Options{Contact: []string{live.Contact(t, "hbase")}, ReadOnly: true, Keyspace: keyspace}
	opened, err := Engine().Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	reader := opened.(*Store)
	if err := reader.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	st.tables.Add(s, l.tables) // it writes what the foreign owner would
	w := newWorker(t, st, s)
	id := drivers.UUID([16]byte{1})
	w.write("put", id, drivers.Bigint(7), drivers.Text("a"), drivers.Bigint(8))
	rows := 0
	r := newWorker(t, reader, s)
	err = r.session.Read(t.Context(), r.prepare("all"), nil, func(row []drivers.Value) error {
		rows++
		return nil
	})
	if err != nil || rows != 1 {
		t.Errorf("%d rows were read, %v; expected one", rows, err)
	}
	c, err := drivers.Compare(t.Context(), reader, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Drifts) > 0 || len(c.Unseen) != 1 || !strings.Contains(c.Unseen[0], keyspace+":mail") {
		t.Errorf("of their own namespace: %q, unseen %q", inWords(c.Drifts), c.Unseen)
	}
	if _, err := reader.Drop(t.Context()); !errors.Is(err, drivers.ErrReadOnly) {
		t.Errorf("drop: %v", err)
	}
}

// inWords writes drifts in words.
func inWords(drifts []drivers.Drift) (words []string) {
	for _, d := range drifts {
		words = append(words, d.Harm.String()+": "+d.String())
	}
	return words
}

func described(t *testing.T, st *Store, name string) TableDescription {
	t.Helper()
	all, err := st.describe(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}

// requested sends a request to the master and waits until it is executed.
func requested(t *testing.T, st *Store, method string, request proto.Message, answer interface {
	proto.Message
	GetProcId() uint64
},
) {
	t.Helper()
	if err := st.run(t.Context(), method, request, answer); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// modify gives a table a descriptor, and waits until HBase reports it: the answer of
// this version's client names no procedure.
func modify(t *testing.T, st *Store, d TableDescription) {
	t.Helper()
	request := &pb.ModifyTableRequest{TableName: tableName(d.Name), TableSchema: d.message()}
	if err := st.askMaster(t.Context(), "ModifyTable", request, &pb.ModifyTableResponse{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), tableTimeout)
	defer cancel()
	for have := described(t, st, d.Name); !cmp.Equal(have, d); have = described(t, st, d.Name) {
		if err := drivers.Pause(ctx, pollInterval); err != nil {
			t.Fatalf("ModifyTable: %v (-wanted +there):\n%s", err, cmp.Diff(d, have))
		}
	}
}

// mendBy runs a command of the shell: create or alter.
func mendBy(t *testing.T, st *Store, text string) {
	t.Helper()
	p := &shell{T: t, rest: text}
	switch p.space(); {
	case p.rest == "": // a comment
	case p.next("create"):
		requested(t, st, "CreateTable", &pb.CreateTableRequest{TableSchema: p.create().table.message()}, &pb.CreateTableResponse{})
	default:
		p.take("alter")
		d := described(t, st, p.value().(string))
		p.take(",")
		var h map[string]any
		if p.next("{") {
			h = p.pairs()
			p.take("}")
		} else {
			h = p.pairs()
		}
		switch name, _ := h["NAME"].(string); {
		case h["METHOD"] != nil:
			if _, ok := d.Attributes[name]; !ok {
				t.Fatalf("there is nothing to unset: %s", text)
			}
			delete(d.Attributes, name)
		default:
			if d.Families[name] == nil {
				d.Families[name] = familySettings{"INDEX_BLOCK_ENCODING": "NONE"} // HBase adds it
			}
			maps.Copy(d.Families[name], words(h))
			delete(d.Families[name], "NAME")
		}
		modify(t, st, d)
	}
}
