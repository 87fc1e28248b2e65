package page

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
)

// A picture is well-formed XML with a line and a name for each curve, and what is in a name
// is text.
func TestPicture(t *testing.T) {
	fast, slow := hdr.New(1, 1e11, 3), hdr.New(1, 1e11, 3)
	for i := range int64(2000) {
		_ = fast.RecordValue(1000 + i)
		_ = slow.RecordValue(1000 + 1000*i)
	}
	var b bytes.Buffer
	if err := Picture(&b, "a & b", []reports.Curve{reports.Distribution("fast", fast), reports.Distribution("<script>", slow)}); err != nil {
		t.Fatal(err)
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
