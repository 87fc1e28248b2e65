package workloads

import (
	"maps"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

var someModels = map[string][]*schemas.Parameter{
	"james": {
		{Name: "chunk_size", Size: true, Least: 1000, Most: 50_000_000},
		{Name: "store", Words: []string{"db", "fs-local"}},
	},
	"oracle": nil,
}

// TestModels: parameters of a model hold for its variants, whose own come first.
func TestModels(t *testing.T) {
	known := Known{Models: someModels}
	w, err := known.Parse("w.yaml", []byte(swept+"models: {james: {chunk_size: 64KiB}, james@x: {chunk_size: 2KB}}\n"),
		[]string{"models.james.chunk_size=4KB"})
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]int{"james": 4000, "james@y": 4000, "james@x": 2000, "oracle": 0} {
		if got := w.ValuesOf(model); got["chunk_size"] != want {
			t.Errorf("%s: %v, want %d", model, got, want)
		}
	}
	if got := w.ValuesOf("oracle"); !maps.Equal(got, map[string]int{}) {
		t.Errorf("oracle: %v", got)
	}
	w, err = known.Parse("w.yaml", []byte(swept), []string{"models.james.store=fs-local"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.ValuesOf("james"); got["store"] != 2 {
		t.Errorf("of a word: %v", got)
	}
	w, err = known.Parse("w.yaml", []byte(swept), []string{"sweep.models.james.chunk_size=[4KB, 64KB]"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Sweep.Points[1].Workload.ValuesOf("james"); got["chunk_size"] != 64000 {
		t.Errorf("at the second point: %v", got)
	}
}

// TestModelsWrong: an error has its place and says which keys there are.
func TestModelsWrong(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"models.jame.chunk_size=1", `--set "models.jame.chunk_size=1":1:8: unknown model "jame"; did you mean "james"?`},
		{"models.james.chunk-size=1KB", `unknown parameter "chunk-size" of model james; did you mean "chunk_size"?`},
		{"models.james.overflow_after=1", `unknown parameter "overflow_after" of model james; expected one of chunk_size, store`},
		{"models.oracle.chunk_size=1", `unknown parameter "chunk_size" of model oracle; it has none`},
		{"models.james.chunk_size=7", `1:25: models.james.chunk_size must be from 1KB to 50MB, found 7`},
		{"models.james.chunk_size=[1]", "models.james.chunk_size must be a number, a size such as 128KiB or a word"},
		{"models.james.chunk_size=0", "models.james.chunk_size must be from 1KB to 50MB, found 0"},
		{"models.james.chunk_size=99999999999", "models.james.chunk_size must be from 1KB to 50MB, found 99999999999"},
		{"models.james.chunk_size=big", "1:25: models.james.chunk_size: \"big\" is not a size"},
		{"models.james.store=fs-locl", `1:20: models.james.store: unknown word "fs-locl"; did you mean "fs-local"?`},
		{"models.james.store=2", `models.james.store: unknown word "2"; expected one of db, fs-local`},
		{"models.james=1", "model james must be"},
		{"sweep.models.james.chunk_size=[1, 4KB]", "models.james.chunk_size must be from 1KB to 50MB, found 1"},
	} {
		_, err := Known{Models: someModels}.Parse("w.yaml", []byte(swept), []string{c.set})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.set, err, c.want)
		}
	}
}
