package results

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *Cell)
		want   string
	}{
		{"nothing", func(*Cell) {}, ""},
		{"a gap without intervals", func(c *Cell) { c.Timeline = nil }, ""},
		{"an operation with a negative count", func(c *Cell) { c.Ops["list"] = Op{Unknown: -1} }, "list has an impossible count"},
		{"one among positive ones", func(c *Cell) { c.Ops["list"] = Op{Count: 9, Failed: -1} }, "list has an impossible count"},
		{"one of a stream", func(c *Cell) { c.Streams = []Stream{{Name: "in", Ops: map[string]Op{"list": {Failed: -1}}}} }, "stream in: list has"},
		{"more operations than there can be", func(c *Cell) { c.Ops["list"] = Op{Count: 1 << 62} }, "list has an impossible count"},
		{"a phase of negative length", func(c *Cell) { c.Seconds = -1 }, "it lasts -1 s"},
		{"a phase without an end", func(c *Cell) { c.Seconds = 1e300 }, "it lasts 1e+300 s"},
		{"an interval before the phase", func(c *Cell) { c.Timeline[2].At = -1 }, "interval 3 begins at -1 s and lasts 1 s"},
		{"an interval of negative length", func(c *Cell) { c.Timeline[2].Seconds = -1 }, "interval 3 begins at 2 s and lasts -1 s"},
		{"an interval in another age", func(c *Cell) { c.Timeline[2].At = 1e300 }, "interval 3 begins at 1e+300 s and lasts 1 s"},
		{"an interval beyond all numbers", func(c *Cell) { c.Timeline[2].At, c.Timeline[2].Seconds = 1.7e308, 1.7e308 }, "interval 3 begins at"},
	} {
		r := sample()
		c.change(&r.Cells[troubled])
		_, err := Parse([]byte(encoded(t, r)))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), "result james/embedded/measure/1/1: "+c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
