package plan

import (
	"math"
	"testing"

	"github.com/mailbench/mailbench/workloads"
)

// TestHottest compares with known shares: uniform keys share evenly, and Zipf's law
// gives rank 1 of n the share 1 ÷ (1 + 2^-θ + … + n^-θ).
func TestHottest(t *testing.T) {
	zipf := 0.0
	for k := 1.0; k <= 10; k++ {
		zipf += math.Pow(k, -0.99)
	}
	for _, c := range []struct {
		set          []string
		user, folder float64
	}{
		{[]string{"access.users=uniform", "population.folders=2"}, 0.1, 0.05},
		{[]string{"access.users=zipf", "population.folders=2"}, 1 / zipf, 0.5 / zipf},
		{[]string{"access.users=uniform", "population={users: 10, messages: 20, shared: true}"}, 0.1, 1},
	} {
		w, err := workloads.Bundled("quick", append([]string{
			"population.users=10", "access.folders=uniform", "phases.measure.mix={list: 1}",
		}, c.set...)...)
		if err != nil {
			t.Fatal(err)
		}
		census, err := NewCensus(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		user, folder := Hottest(w, census)
		if math.Abs(user/c.user-1) > 0.1 || math.Abs(folder/c.folder-1) > 0.1 {
			t.Errorf("%v: user %.3f, folder %.3f; want %.3f and %.3f", c.set, user, folder, c.user, c.folder)
		}
	}
}
