package reports

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// TestEnginesCompressDifferently: where engines of a run compress their files in different ways,
// bytes stored are not alike, and it is said how each does.
func TestEnginesCompressDifferently(t *testing.T) {
	cell := func(engine string, settings map[string]string) results.Cell {
		return results.Cell{
			Key: results.Key{Engine: engine, Phase: "measure"}, Durability: "process", Kind: results.KindMeasure,
			Engines: &results.EngineInfo{Version: engine + " 1", Settings: settings},
		}
	}
	r := &results.Run{Cells: []results.Cell{
		cell("cassandra", map[string]string{"compression": "none (of requests)", "table_compression": "LZ4Compressor chunk_length_in_kb=16"}),
		cell("hbase", map[string]string{"compression": "none"}),
		cell("embedded", map[string]string{"compression": "snappy"}),
	}}
	if got, want := enginesIn(r, false), []string{
		"cassandra 1, durability process, files compressed by lz4",
		"hbase 1, durability process, files not compressed",
		"embedded 1, durability process, files compressed by snappy",
	}; !slices.Equal(got, want) {
		t.Errorf("engines %q, want %q", got, want)
	}
	r.Cells = r.Cells[2:]
	if got, want := enginesIn(r, false), []string{"embedded 1, durability process"}; !slices.Equal(got, want) {
		t.Errorf("engines %q, want %q", got, want)
	}
}
