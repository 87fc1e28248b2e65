package results

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Each cell is on a line of its own, which is JSON by itself.
func TestCellsHaveLines(t *testing.T) {
	for _, cells := range []int{0, 1, len(sample().Cells)} {
		r := sample()
		r.Cells = r.Cells[:cells]
		// A text that looks like the place of the cells is not taken for it.
		r.Left = []string{`"cells": null`}
		text := encoded(t, r)
		var got []Cell
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(strings.TrimSpace(line), ",")
			if !strings.HasPrefix(line, `{"model":`) {
				continue
			}
			var c Cell
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Errorf("%v: %s", err, line)
			}
			got = append(got, c)
		}
		if len(got) != cells || cells > 0 && !reflect.DeepEqual(got, r.Cells) {
			t.Errorf("%d cells have lines, want %d", len(got), cells)
		}
		again, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, r) {
			t.Errorf("a run of %d cells is not what was written", cells)
		}
	}
}
