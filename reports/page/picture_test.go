package page

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"html/template"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads/latency"
)

// Sizes of a picture: as wide as a page of documentation, with room for a title and a key.
const (
	pictureWidth, pictureHeight = 720, 360
	titleHeight                 = 28
	keyLength, keyHeight        = 26, 18
)

// pictureKey names a line of a picture.
type pictureKey struct {
	Name      string
	Series    int
	X, Y, End float64 // a sample of the line goes from X to End, at height Y
}

//go:embed testdata/picture.svg.tmpl
var pictureText string

// A template that was executed cannot be cloned, so this is before all tests.
var pictureTemplate = template.Must(template.Must(templates.Clone()).Parse(pictureText))

// drawPicture draws percentile curves as an SVG file that needs nothing else, with the key in the upper left.
func drawPicture(w io.Writer, title string, curves []document.Line) error {
	d := percentileChart(title, curves)
	ch := draw(&d, &palette{}, pictureWidth, pictureHeight, titleHeight)
	p := struct {
		*chart
		Keys []pictureKey
	}{chart: ch}
	for i, l := range ch.Lines {
		x, y := ch.Left+12, ch.Top+14+float64(i)*keyHeight
		p.Keys = append(p.Keys, pictureKey{Name: l.Name, Series: l.Series, X: x, Y: y, End: x + keyLength})
	}
	return pictureTemplate.ExecuteTemplate(w, "picture", p)
}

// A picture is well-formed XML with a line and a name for each curve, and what is in a name
// is text. It has the size and bounds of the one in the documentation.
func TestPicture(t *testing.T) {
	fast, slow := latency.NewHistogram(3), latency.NewHistogram(3)
	for i := range time.Duration(2000) {
		fast.Record(1000+i, 1)
		slow.Record(1000+1000*i, 1)
	}
	var b bytes.Buffer
	if err := drawPicture(&b, "a & b", []document.Line{distribution("fast", fast), distribution("<script>", slow)}); err != nil {
		t.Fatal(err)
	}
	documented, err := os.ReadFile("../../docs/stall.svg")
	if err != nil {
		t.Fatal(err)
	}
	bounds := regexp.MustCompile(`viewBox="[^"]*" width="\d+" height="\d+"|<line class="grid" x1="56\S* y1=\S+ x2=\S+ y2="\d+"`)
	if got, want := bounds.FindAllString(b.String(), 2), bounds.FindAllString(string(documented), 2); !slices.Equal(got, want) {
		t.Errorf("the picture has %q, and docs/stall.svg %q", got, want)
	}
	lines := 0
	var words []string
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "polyline" {
				lines++
			}
			if x.Name.Local == "script" {
				t.Error("a name has become an element")
			}
		case xml.CharData:
			words = append(words, string(x))
		}
	}
	if text := strings.Join(words, "|"); lines != 2 || !strings.Contains(text, "|fast|") || !strings.Contains(text, "|<script>|") || !strings.Contains(text, "a & b") {
		t.Errorf("%d lines: %s", lines, text)
	}
}
