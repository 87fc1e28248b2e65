package workloads

import (
	"slices"
	"strings"
	"testing"
)

// The language knows every key and every word that completion offers.
func TestPathsAreOfTheLanguage(t *testing.T) {
	w, err := Bundled("workday")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	var walk func(typed string)
	walk = func(typed string) {
		for _, p := range (Known{}).Complete(w, typed) {
			if strings.HasSuffix(p, ".") {
				walk(p)
			} else {
				paths = append(paths, p)
			}
		}
	}
	walk("")
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
