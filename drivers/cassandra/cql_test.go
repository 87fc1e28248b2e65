package cassandra

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

var rewrite = flag.Bool("update", false, "write golden files anew")

// offline returns a compiler that knows a schema as if a cluster had its tables.
func offline(t testing.TB, s *schemas.Schema) *compiler {
	t.Helper()
	k := new(compiler)
	d, err := ddl.Define(s, "", ddl.Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	k.applied.Add(d.Schema, d.Of)
	return k
}

// TestStatements pins the CQL of every pattern of the five documents' schemas, and
// of one that has what they have not; and of what Cassandra cannot do, the reason.
// A new model's schema need not be here.
func TestStatements(t *testing.T) {
	for _, name := range []string{"conversation", "datastax", "elasticinbox", "james", "oracle", "all"} {
		t.Run(name, func(t *testing.T) {
			var s *schemas.Schema
			if name == "all" {
				src, err := os.ReadFile("testdata/all.yaml")
				if err != nil {
					t.Fatal(err)
				}
				if s, err = schemas.Parse("all.yaml", src); err != nil {
					t.Fatal(err)
				}
			} else {
				var err error
				if s, err = schemas.Bundled(name); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, filepath.Join("testdata", name+".golden"), statements(t, offline(t, s), s))
		})
	}
}

// statements writes what each pattern becomes.
func statements(t *testing.T, k *compiler, s *schemas.Schema) string {
	var b strings.Builder
	patterns := s.Patterns
	for _, table := range s.Tables {
		if len(table.Static) > 0 {
			patterns = append(patterns, schemas.StaticScanOf(table))
		}
	}
	for _, p := range patterns {
		compiled, err := k.compile(p)
		switch {
		case errors.Is(err, drivers.ErrUnsupported):
			instead := "it has no fallback"
			if p.Fallback != nil {
				instead = "its fallback is " + p.Fallback.Name
			}
			fmt.Fprintf(&b, "%s: %v: %s\n", p.Name, err, instead)
			continue
		case err != nil:
			t.Fatalf("%s: %v", p.Name, err)
		}
		fmt.Fprintf(&b, "%s:%s\n", p.Name, compiled.notes())
		for _, q := range compiled.all() {
			fmt.Fprintf(&b, "\t%s\n", strings.ReplaceAll(q.text, cql.Quote("mailbench_"+s.Name)+".", ""))
		}
	}
	return b.String()
}

// notes says how a statement is run.
func (st *statement) notes() string {
	var notes []string
	note := func(holds bool, text string) {
		if holds {
			notes = append(notes, text)
		}
	}
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		note(p.Atomic == schemas.AtomicNone, fmt.Sprintf("one by one, %d at once", max(p.Parallel, 1)))
		note(p.Atomic > schemas.AtomicNone && !st.counter, "one batch, logged if it is of several partitions")
		note(st.counter && p.Atomic > schemas.AtomicNone, "one counter batch")
		return " " + strings.Join(notes, ", ")
	}
	q := st.all()[0]
	note(q.route == nil, "any node")
	note(!q.idempotent, "sent once")
	note(len(q.lists) > 0, "sent once if it brings elements of a list")
	note(st.readsEach(), fmt.Sprintf("%d at once", p.Parallel))
	note(st.inAt >= 0, "put in the list argument's order")
	note(p.LimitArg && !st.limited || p.Limit > 0 && !st.limited, "counted here")
	note(len(st.reads[plan.WithAfter]) > 1, "pages in several reads")
	note(!p.Kind.Reads() && !st.setsTimestamp() && !st.counter && !q.conditional, "stamped by the node")
	if len(notes) == 0 {
		return ""
	}
	return " " + strings.Join(notes, ", ")
}

// golden compares a text with a file; a different one is written next to it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if *rewrite {
		err = os.WriteFile(file, []byte(got), 0o644)
	} else if err == nil && string(want) != got {
		beside := file + ".new"
		err = errors.Join(fmt.Errorf("%s differs; what there is now is in %s, and go test -update takes it over", file,
			beside), os.WriteFile(beside, []byte(got), 0o644))
	}
	if err != nil {
		t.Error(err)
	}
}
