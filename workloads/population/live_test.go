package population

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/workloads/messages"
)

// engineFiles is where the engines that the environment names keep their files. The
// sizes of files are compared with a forecast, and no engine reports them as
// exactly.
var engineFiles = flag.String("files", "", "folder of the files of Cassandra and HBase; make check CHECK=forecast sets it")

// plain are the hints that switch compression and encoding off.
var plain = map[string]map[string]string{
	"cassandra": {"compression": "none", "compaction": "SizeTieredCompactionStrategy min_threshold=2"},
	"hbase":     {"data_block_encoding": "none", "compression": "none"},
}

// uncompressed returns a model whose tables are not compressed.
func uncompressed(m models.Model, engine string) models.Model {
	schema := m.Schema
	m.Schema = func() (*schemas.Schema, error) {
		s, err := schema()
		if err != nil {
			return nil, err
		}
		for _, t := range s.Tables {
			if t.Header() {
				continue
			}
			if t.Hints == nil {
				t.Hints = make(map[string]map[string]string)
			}
			if t.Hints[engine] == nil {
				t.Hints[engine] = make(map[string]string)
			}
			for name, value := range plain[engine] {
				t.Hints[engine][name] = value
			}
		}
		return s, nil
	}
	return m
}

// TestLive compares forecasts with the files of real engines.
func TestLive(t *testing.T) {
	if *engineFiles == "" {
		t.Skip("-files is not set; make check CHECK=forecast sets it")
	}
	w := parse(t)
	p := everything(t, w)
	for _, e := range []struct {
		drivers.Engine
		tables func(t *testing.T, contact, namespace string, st drivers.Store, s *schemas.Schema) map[string]measured
	}{
		{cassandra.Engine(), cassandraTables},
		{hbase.Engine(), hbaseTables},
	} {
		for _, m := range all() {
			t.Run(e.Name+"/"+m.Name, func(t *testing.T) {
				contact, namespace := live.Contact(t, e.Name), "f"+strings.ToLower(rand.Text()[:15])
				m := uncompressed(m, e.Name)
				s, err := m.Schema()
				if err != nil {
					t.Fatal(err)
				}
				st := open(t, e.Engine, contact, namespace)
				p.Span = load(t, w, m, st, s, "").Seconds()
				compare(t, s, p, e.Engine, e.tables(t, contact, namespace, st, s))
			})
		}
	}
}

// open opens a store in a namespace, which goes with the test.
func open(t *testing.T, e drivers.Engine, contact, namespace string) drivers.Store {
	t.Helper()
	st, err := e.Open(t.Context(), drivers.Options{Contact: []string{contact}, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := drivers.Drop(context.Background(), st); err != nil {
			t.Errorf("drop the namespace: %v", err)
		}
		st.Close()
	})
	return st
}

// TestLiveCompression compares what a compressor leaves of sampled mail with what
// Cassandra, which compresses by default, keeps of raw messages.
func TestLiveCompression(t *testing.T) {
	if *engineFiles == "" {
		t.Skip("-files is not set; make check CHECK=forecast sets it")
	}
	e, w, m := cassandra.Engine(), parse(t), elasticinbox.Model()
	contact, namespace := live.Contact(t, e.Name), "f"+strings.ToLower(rand.Text()[:15])
	s, err := m.Schema()
	if err != nil {
		t.Fatal(err)
	}
	st := open(t, e, contact, namespace)
	load(t, w, m, st, s, "")
	kept := cassandraTables(t, contact, namespace, st, s)["MessageBlob"].bytes
	engine, err := e.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	f, err := forecast.Make(s, everything(t, w), engine)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compress(t.Context(), w, messages.NewGenerator(w), engine.Compression)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(f.Tables, func(t *forecast.Table) bool { return t.Name == "MessageBlob" })
	share := kept / f.Tables[i].At(0).Bytes
	t.Logf("%s leaves %.3f of a sample of raw messages, Cassandra %.3f of all", c.Compressor, c.Raw, share)
	if share/c.Raw-1 > off || c.Raw/share-1 > off {
		t.Errorf("a sample says %.3f, Cassandra %.3f", c.Raw, share)
	}
}

// quiet waits until the sizes of files do not change any more.
func quiet(t *testing.T, measure func() map[string]measured, complete func(map[string]measured) bool) map[string]measured {
	t.Helper()
	var last map[string]measured
	same := 0
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		have := measure()
		if same++; fmt.Sprint(have) != fmt.Sprint(last) || !complete(have) {
			same = 0
		}
		if same == 8 {
			return have
		}
		last = have
	}
	t.Fatalf("files did not come to rest: %v", last)
	return nil
}

// cassandraTables measures the files of the tables of a keyspace. Settle has Cassandra write them.
func cassandraTables(t *testing.T, _, namespace string, st drivers.Store, s *schemas.Schema) map[string]measured {
	t.Helper()
	keyspace := plan.PlaceName(namespace, plan.Identifier(s.Name))
	names := make(map[string]string) // in CQL → in the schema
	for _, tb := range s.Tables {
		if tb.Header() {
			continue
		}
		name := tb.Name
		if tb.Parent != nil && tb.Parent.Header() {
			name = tb.Parent.Name
		}
		name = strings.ReplaceAll(name, ".", "_")
		names[name] = tb.Name
	}
	dir := find(t, keyspace)
	if err := st.(drivers.Settler).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return quiet(t, func() map[string]measured {
		have := make(map[string]measured)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range entries {
			name, _, _ := strings.Cut(d.Name(), "-")
			have[names[name]] = measured{-1, filesOf(filepath.Join(dir, d.Name()))}
		}
		return have
	}, declaredThere(s))
}

// declaredThere reports whether every table with rows has files.
func declaredThere(s *schemas.Schema) func(map[string]measured) bool {
	return func(have map[string]measured) bool {
		return !slices.ContainsFunc(s.Tables, func(t *schemas.Table) bool { return len(t.Rows) > 0 && have[t.Name].bytes == 0 })
	}
}

// hbaseTables measures the files of each family. Settle flushed them three times, so
// that HBase has compacted what was written all the time, such as counters.
func hbaseTables(t *testing.T, _, namespace string, _ drivers.Store, s *schemas.Schema) map[string]measured {
	t.Helper()
	return quiet(t, func() map[string]measured {
		have := make(map[string]measured)
		for _, tb := range s.Tables {
			if tb.Header() {
				continue
			}
			families := []string{"m"}
			if tb.Parent != nil {
				families = []string{tb.Name[strings.LastIndexByte(tb.Name, '.')+1:]}
			}
			if len(tb.Static) > 0 {
				families = append(families, "s")
			}
			prefix, m := drivers.Prefix+namespace+"_"+s.Name+".", measured{rows: -1}
			var files []string
			for _, f := range families {
				files = append(files, matches(t, filepath.Join(find(t, prefix+tb.Root().Name), "*", f))...)
			}
			for _, x := range tb.Indexes {
				if !x.OverKeys() { // its entries are a table of their own
					files = append(files, matches(t, filepath.Join(find(t, prefix+tb.Name+"_"+x.Name), "*", "m"))...)
				}
			}
			for _, f := range files {
				n, ok := compacted(f)
				if m.bytes += n; !ok {
					m.bytes = 0
					break
				}
			}
			have[tb.Name] = m
		}
		return have
	}, declaredThere(s))
}

func matches(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// compacted returns the size of a family's file. HBase compacts three flushed files
// into one, and removes the three only minutes later: the youngest of four is that
// of the compaction. Any other number of files above one is not quiescent.
func compacted(dir string) (bytes float64, ok bool) {
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		return 0, true // no such family, or nothing in it
	}
	var youngest time.Time
	n := 0
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return 0, false
		}
		if f.IsDir() || strings.HasSuffix(f.Name(), ".crc") {
			continue
		}
		if n++; info.ModTime().After(youngest) {
			youngest, bytes = info.ModTime(), float64(info.Size())
		}
	}
	return bytes, n == 1 || n >= 4
}

// find returns the folder of that name below the engines' files.
func find(t *testing.T, name string) (dir string) {
	t.Helper()
	err := filepath.WalkDir(*engineFiles, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == name && !strings.Contains(path, "/archive/") {
			dir = path
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || dir == "" {
		t.Fatalf("no folder %s below %s: %v", name, *engineFiles, err)
	}
	return dir
}

// filesOf sums up the files of a folder, some of which the engine may just remove.
func filesOf(dir string) (bytes float64) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".crc") {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += float64(info.Size())
		}
		return nil
	})
	return bytes
}
