package workloads

import (
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/random"
)

const swept = `version: 1
name: swept
mail: {body: 1KB}
population: {users: 2, messages: 10}
phases:
  - load: {}
  - measure: {duration: 5s, rate: 10/s, mix: {list: {weight: 1, page: 25}}}
`

// A sweep has a whole workload for each of its values.
func TestSweep(t *testing.T) {
	for _, c := range []struct {
		sweep, path string
		values      []string
		sizes       []float64
	}{
		{"{population.messages: [100, 1000, 10000]}", "population.messages", []string{"100", "1000", "10000"}, []float64{100, 1000, 10000}},
		{"{population: {messages: [1, 2]}}", "population.messages", []string{"1", "2"}, []float64{1, 2}},
		{"{phases.measure.rate: [10/s, 20/s]}", "phases.measure.rate", []string{"10/s", "20/s"}, []float64{10, 20}},
		{"{phases.measure.mix.list.page: [25, 50]}", "phases.measure.mix.list.page", []string{"25", "50"}, []float64{25, 50}},
		{"{population: {messages: [1, 2], users: [20, 10]}}", "population.messages with population.users", []string{"1", "2"}, []float64{1, 2}},
		{"{population.messages.lognormal: {median: [10, 20]}}", "", nil, nil}, // there is no p99
		{"{models.james.chunk_size: [4KiB, 64KiB]}", "models.james.chunk_size", []string{"4KiB", "64KiB"}, []float64{4096, 65536}},
	} {
		w, err := Parse("swept.yaml", []byte(swept+"sweep: "+c.sweep+"\n"))
		if c.path == "" {
			if err == nil {
				t.Errorf("%s: no error", c.sweep)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.sweep, err)
			continue
		}
		var values []string
		var sizes []float64
		for _, p := range w.Sweep.Points {
			values, sizes = append(values, p.Value), append(sizes, p.Size)
			again, err := Parse("point.yaml", p.Workload.Source)
			if err != nil || again.Sweep != nil || p.Workload.Sweep != nil {
				t.Errorf("%s: the text of point %s: %v", c.sweep, p.Value, err)
			}
		}
		if w.Sweep.Name() != c.path || !slices.Equal(values, c.values) || c.sizes != nil && !slices.Equal(sizes, c.sizes) {
			t.Errorf("%s: %s %q %v", c.sweep, w.Sweep.Name(), values, sizes)
		}
	}
	w, err := Parse("swept.yaml", []byte(swept), "sweep={population.messages: [5, 50]}")
	if err != nil {
		t.Fatal(err)
	}
	if p := w.Sweep.Points; p[0].Workload.Population.Messages != (random.Constant{Value: 5}) || p[1].Workload.Population.Messages != (random.Constant{Value: 50}) {
		t.Errorf("%v", p)
	}
	if w, err = Parse("swept.yaml", []byte(swept+"sweep: {mail.body: [1KB, 2KB]}"), "sweep={}"); err != nil || w.Sweep != nil {
		t.Errorf("a sweep that is left out: %v, %v", w, err)
	}
}

// A fault in a sweep is reported with its place, also if it is a value that the swept
// key refuses.
func TestSweepFaults(t *testing.T) {
	for _, c := range []struct{ sweep, want string }{
		{"5", "8:8: sweep must be a mapping"},
		{"[1, 2]", "8:8: sweep must be"},
		{"{population.messages: 100}", "8:30: sweep.population.messages must be"},
		{"{population.messages: [100]}", "8:30: sweep.population.messages must be a list of 2 to 20 values, such as [100, 1000, 10000], found 1 value"},
		{"{population.messages: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}", "found 21 values"},
		{"{population.messages: [100, 10]}", "8:36: the values of sweep.population.messages must ascend: 10 comes after 100"},
		{"{population.messages: [100, 100]}", "must ascend"},
		{"{population.messages: [0, 100]}", `8:31: a value of sweep.population.messages must be a number above 0, with its unit if it has one (1000, 10KB, 5s, 200/s), found the number 0`},
		{"{population.messages: [-1, 100]}", "above 0"},
		{"{population.messages: [.nan, 100]}", "above 0"},
		{"{population.messages: [.inf, 100]}", "above 0"},
		{"{population.messages: [{constant: 5}, 100]}", "above 0"},
		{"{population.messages: [many, 100]}", "above 0"},
		{"{population.messages: [10, 1e12]}", "8:35: sweep: with population.messages=1e12: population.messages must be from 0 to"},
		{"{population.users: [1.5, 2]}", "sweep: with population.users=1.5: population.users must be a whole number"},
		{"{population.mesages: [10, 100]}", `sweep: with population.mesages=10: unknown key "mesages" in population; did you mean "messages"?`},
		{"{phases.mesure.rate: [10/s, 20/s]}", `unknown phase "mesure"`},
		{"{phases: [10, 20]}", "sweep: with phases=10: phases must be a list"},
		{"{population.messages: [10, 20], mail.body: [1KB]}", "8:51: sweep.mail.body must be a list of 2 to 20 values, such as [100, 1000, 10000], found 1 value"},
		{"{population.messages: [10, 20], mail.body: [1KB, 2KB, 3KB]}", "8:40: sweep.population.messages has 2 values and sweep.mail.body 3"},
		{"{population.messages: [10, 20], mail.body: [1KB, x]}", "8:57: a value of sweep.mail.body must be a number above 0"},
		{"{population.messages: [10, 20], mail.bodi: [1KB, 2KB]}", `8:31: sweep: with population.messages=10 mail.bodi=1KB: unknown key "bodi" in mail`},
		{"{seed: [1, 2]}", "8:9: seed is not a size"},
		{"{sweep.x: [1, 2]}", "not a size"},
		{"{'': [1, 2]}", "sweep: with =1"},
		{"{population.messages.x: [1, 2]}", "sweep: with population.messages.x=1"},
		{"{models.james.chunk_size: [1x, 2KB]}", "must be a number above 0"},
	} {
		w, err := Parse("swept.yaml", []byte(swept+"sweep: "+c.sweep+"\n"))
		if err == nil {
			t.Errorf("%s: no error, %d points", c.sweep, len(w.Sweep.Points))
		} else if !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 2 {
			t.Errorf("%s:\n%v\nwant %s", c.sweep, err, c.want)
		}
	}
	_, err := Parse("swept.yaml", []byte(swept), "sweep.population.messages=[10, 1e12]")
	if err == nil || !strings.HasPrefix(err.Error(), `--set "sweep.population.messages=[10, 1e12]":1:`) {
		t.Errorf("--set: %v", err)
	}
}

// An engine's setting at a point is checked as in the workload itself.
func TestSweepEngines(t *testing.T) {
	known := Known{Engines: map[string]EngineWords{"cassandra": {Settings: []string{"contact", "page_size"}}}}
	_, err := known.Parse("swept.yaml", []byte(swept+"sweep: {engines.cassandra.page-size: [100, 1000]}\n"), nil)
	want := `swept.yaml:8:39: sweep: with engines.cassandra.page-size=100: unknown setting "page-size" of engine cassandra; did you mean "page_size"?`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The schema takes sweeps as the language writes them, and no others.
func TestSweepSchema(t *testing.T) {
	s := compiledSchema(t)
	for text, good := range map[string]bool{
		"{population.messages: [100, 1000]}":    true,
		"{population: {messages: [100, 1000]}}": true,
		"{}":                                    true,
		"{population.messages: [100]}":          false,
		"{population.messages: [100, 200], mail.body: [1, 2]}": true,
		"{population.messages: 5}":                             false,
	} {
		if err := check(t, s, []byte(swept+"sweep: "+text+"\n")); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
