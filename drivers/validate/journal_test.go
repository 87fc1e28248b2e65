package validate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/schemas"
)

// breaking is a store whose reads fail from a number on.
type breaking struct {
	drivers.Store
	drivers.Splitter
	reads, most atomic.Int64
}

var errGone = errors.New("the engine is gone")

func (b *breaking) Session() (drivers.Session, error) {
	s, err := b.Store.Session()
	return &breakingSession{s, b}, err
}

type breakingSession struct {
	drivers.Session
	of *breaking
}

func (s *breakingSession) Read(
	ctx context.Context, st drivers.Statement, args []drivers.Value, yield func([]drivers.Value) error,
) error {
	late := s.of.reads.Add(1) > s.of.most.Load()
	err := s.Session.Read(ctx, st, args, func(row []drivers.Value) error {
		if err := yield(row); err != nil || !late {
			return err
		}
		return errGone // after a row
	})
	if err == nil && late {
		err = errGone
	}
	if err != nil {
		s.of.reads.Add(-1)
	}
	return err
}

// journal opens a journal, as mailbench would for each process.
func (w *world) journal(file string, sample float64) *validate.Journal {
	w.t.Helper()
	j, err := validate.OpenJournal(file, validate.Of{Store: "a store", Tables: "files 17", Sample: sample, Seed: 1}, w.schema)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// TestResume: a check that is interrupted again and again reads each part once, and finds what one that
// is not interrupted finds.
func TestResume(t *testing.T) {
	w := newWorld(t)
	w.boxes(400, func(_ string, i int) bool { return i%50 != 6 })
	w.putter("files", false)(drivers.Text("box-000008"), drivers.Int(99), drivers.Blob([]byte("x")))
	row := []drivers.Value{
		drivers.UUID(id(9)), drivers.TimeUUID(id(9)), drivers.TextBytes([]byte("caf\xe9")), {}, {}, {}, {}, {}, {},
	}
	w.putter("things", false)(row...)
	for _, sample := range []float64{1, 0.5} {
		want := w.check(validate.Config{Sample: sample, Seed: 1})
		file := filepath.Join(t.TempDir(), "check")
		st := &breaking{Store: w.store, Splitter: w.store.(drivers.Splitter)}
		var r *validate.Report
		rounds := 0
		for err := errGone; err != nil; rounds++ {
			st.most.Add(map[float64]int64{1: 61, 0.5: 7}[sample])
			j := w.journal(file, sample)
			r, err = validate.Run(t.Context(), st, w.schema, validate.Config{
				Dir: t.TempDir(), Sample: sample, Seed: 1, Workers: 3, Journal: j,
			})
			if err != nil && !errors.Is(err, errGone) || rounds > 100 {
				t.Fatal(err)
			}
			if cerr := j.Close(); cerr != nil {
				t.Fatal(cerr)
			}
			if err != nil && rounds == 1 { // the process ended while it wrote
				logs, _ := filepath.Glob(file + ".records/*.log")
				add(t, logs[len(logs)-1], "\x07half a part")
			}
		}
		if sample == 1 && rounds < 5 {
			t.Errorf("broken off %d times, want more", rounds-1)
		}
		got, whole := found(r), found(want)
		if sample == 1 {
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("findings (-whole +resumed):\n%s", diff)
			}
		} else if len(got) == 0 {
			t.Error("a sample of half found nothing")
		}
		parts, earlier := 0, 0
		for i, table := range r.Tables {
			parts, earlier = parts+table.Read, earlier+table.Earlier
			if sample == 1 && table.Rows != want.Tables[i].Rows {
				t.Errorf("%s: %d rows, want %d", table.Name, table.Rows, want.Tables[i].Rows)
			}
		}
		if sample == 1 && int(st.reads.Load()) != parts || earlier == 0 {
			t.Errorf("%d reads of %d parts, %d of them earlier", st.reads.Load(), parts, earlier)
		}
		j := w.journal(file, sample)
		if err := j.Remove(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// TestJournalRefused: a journal of another check, or one that is damaged, is refused.
func TestJournalRefused(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "check")
	if err := w.journal(file, 1).Close(); err != nil {
		t.Fatal(err)
	}
	other, err := schemas.Parse("other.yaml", []byte("schema: 1\nname: other\ntables:\n  t: {partition: [a int]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	changed, err := schemas.Parse("everything.yaml", []byte(strings.Replace(everything, "owner: uuid", "owner: text", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		store  string
		tables string
		schema *schemas.Schema
		sample float64
		want   string
	}{
		{"another", "files 17", w.schema, 1, "it is of a store, not of another"},
		{"a store", "files 17", other, 1, "it is of schema everything, not of other"},
		{"a store", "files 17", changed, 1, "schema everything was changed since"},
		{"a store", "files 18", w.schema, 1, "it is of a store of another cluster, or of tables that were re-created since"},
		{"a store", "files 17", w.schema, 0.1, "it is of a sample of 1 with seed 0, not of 0.1 with 5"},
	} {
		of := validate.Of{Store: c.store, Tables: c.tables, Sample: c.sample, Seed: 5}
		if _, err := validate.OpenJournal(file, of, c.schema); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %s", c.store, c.schema.Name, err, c.want)
		}
	}
	of := validate.Of{Store: "a store", Tables: "files 17", Sample: 1, Seed: 5}
	held := w.journal(file, 1)
	if _, err := validate.OpenJournal(file, of, w.schema); !errors.Is(err, private.ErrLocked) {
		t.Errorf("a journal that another check has open: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	manifests, _ := filepath.Glob(file + ".records/MANIFEST-*")
	for _, name := range manifests {
		if err := os.WriteFile(name, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := validate.OpenJournal(file, of, w.schema); err == nil || !strings.Contains(err.Error(), "it is damaged") {
		t.Errorf("a damaged journal: %v", err)
	}
	for words, want := range map[string]string{
		"my own words\n": "not written by schema validate", "{}\n": "not written by schema validate", "[1]\n": "not written by",
		`{"format":"mailbench.validate/1","store":"a store","tables":"files 17","schema":"everything","sample":1,"seed":0}` + "\n": "another version of mailbench",
	} {
		mine := filepath.Join(t.TempDir(), "mine")
		add(t, mine, words)
		if _, err := validate.OpenJournal(mine, of, w.schema); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("another file, %q: %v", words, err)
		}
		if left, _ := filepath.Glob(mine + ".*"); len(left) > 0 {
			t.Errorf("made beside another file: %q", left)
		}
		if b, err := os.ReadFile(mine); string(b) != words || err != nil {
			t.Errorf("another file has %q now, and had %q: %v", b, words, err)
		}
	}
	if _, err := validate.Run(t.Context(), struct{ drivers.Store }{w.store}, w.schema, validate.Config{
		Dir: t.TempDir(), Journal: w.journal(filepath.Join(t.TempDir(), "a"), 1),
	}); err == nil || !strings.Contains(err.Error(), "does not report the ranges") {
		t.Errorf("a store without ranges: %v", err)
	}
}

// add adds text to the end of a file.
func add(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
