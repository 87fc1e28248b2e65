package page

import (
	"io"

	"github.com/mailbench/mailbench/reports"
)

// Sizes of a picture: as wide as a page of documentation, with room for a title.
const (
	pictureWidth, pictureHeight = 720, 360
	titleHeight                 = 28
	keyLength, keyHeight        = 26, 18
)

// picture is a chart in a file of its own, with its key in the upper left.
type picture struct {
	chart
	Keys []pictureKey
}

// pictureKey names a line.
type pictureKey struct {
	Name      string
	Series    int
	X, Y, End float64 // a sample of the line goes from X to End, at height Y
}

// Picture draws percentile curves as an SVG file that needs nothing else. The lines have
// the names of the curves' operations.
func Picture(w io.Writer, title string, curves []reports.Curve) error {
	ch := newChart(title, "percentile", pictureHeight)
	ch.Width, ch.Right, ch.Top = pictureWidth, pictureWidth-marginRight, titleHeight
	nines := 2.0
	for i := range curves {
		ps := curves[i].Points
		nines = max(nines, ninesOf(ps[len(ps)-1].Percentile))
	}
	var colours palette
	ch.drawPercentiles(curves, nines, func(c *reports.Curve) string { return c.Op }, colours.series)
	p := picture{chart: ch}
	for i, l := range ch.Lines {
		x, y := ch.Left+12, ch.Top+14+float64(i)*keyHeight
		p.Keys = append(p.Keys, pictureKey{Name: l.Name, Series: l.Series, X: x, Y: y, End: x + keyLength})
	}
	return execute(w, "picture", p)
}
