package workloads

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
)

// The language knows every key and every word that completion offers.
func TestPathsAreOfTheLanguage(t *testing.T) {
	w, err := Bundled("workday")
	if err != nil {
		t.Fatal(err)
	}
	paths := w.paths()
	for _, want := range []string{"seed=", "population.users=", "mail.attachments.share=", "phases.measure.rate=", "phases.measure.mix.list=", "phases.measure.arrivals=poisson"} {
		if !slices.Contains(paths, want) {
			t.Errorf("no %s", want)
		}
	}
	// Errors of --set begin with it.
	fault := func(set string) string {
		if _, err := Bundled("workday", set); err != nil && strings.HasPrefix(err.Error(), "--set") {
			return err.Error()
		}
		return ""
	}
	if !strings.Contains(fault("population.sers=1"), "unknown key") || !strings.Contains(fault("phases.measure.arrivals=odd"), "unknown") {
		t.Error("wrong keys and words are not refused: the test tells nothing")
	}
	for _, p := range paths {
		switch f := fault(p); {
		case strings.HasSuffix(p, "=") && strings.Contains(fault(p+"1"), "unknown key"), f != "" && !strings.HasSuffix(p, "=") && !strings.HasSuffix(p, "=largest"):
			t.Errorf("%s: %s", p, f) // largest is of users only
		}
	}
}

// A fault of --set names the key of another section that was probably meant.
func TestKeyOfAnotherSection(t *testing.T) {
	file, text, err := Text("workday")
	if err != nil {
		t.Fatal(err)
	}
	known := Known{
		Engines: map[string]EngineWords{"cassandra": {Remote: true, Settings: []string{"consistency"}}},
		Models:  map[string][]*schemas.Parameter{"james": {{Name: "chunk_size"}}},
	}
	for set, want := range map[string]string{
		"mix={list: 1}": "phases.measure.mix", "mix.deliver=1": "phases.measure.mix.deliver",
		"users=1": "population.users", "phases.measure.users=1": "population.users", "durations=5s": "phases.measure.duration", "clients=1": "phases.measure.clients",
		"attachments=1": "mail.attachments", "consistency=ONE": "engines.cassandra.consistency", "chunk_size=1": "models.james.chunk_size",
		"cassandra.contact=[a]": "engines.cassandra.contact", "population.sers=1": "users", "nonsense=1": "", "sweep={users: [1, 2]}": "population.users",
		"phases.measure.arrivals=mix": "",                                                                       // the value is unknown, not the key
		"phases.xyzzy.rate=1/s":       "", "engines.xyzzy.consistency=ONE": "", "models.xyzzy.chunk_size=1": "", // all names are listed
	} {
		var faults strict.Errors
		if _, err := known.Parse(file, text, []string{"seed=2", set}); !errors.As(err, &faults) || faults[0].Near != want || want != "" && strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v; want %q", set, err, want)
		}
	}
}
