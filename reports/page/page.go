// Package page writes results as one HTML page that needs nothing else: no script, no
// network, no fonts. A page of one run shows all of it, with charts. A page of several runs shows
// them side by side. Every text from results is escaped.
package page

import (
	"bytes"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/reports/results"
)

// HeadSize is how many bytes of a file Ours needs to see.
const HeadSize = 1024

// Ours reports whether a file that begins with head is a page of mailbench, of this version or
// an older one.
func Ours(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) &&
		(bytes.Contains(head, []byte(`<meta name="generator" content="mailbench report">`)) ||
			bytes.Contains(head, []byte("<title>mailbench: ")))
}

// Write writes a page of one run, or of several.
func Write(w io.Writer, sources ...Source) error {
	switch len(sources) {
	case 0:
		return fmt.Errorf("make page: there is no run to show")
	case 1:
		return execute(w, "run", newRunView(&sources[0]))
	}
	return execute(w, "several", newSeveralView(sources))
}

// HTMLFile is the report in a run directory.
const HTMLFile = "report.html"

// Report writes the page of one run that is in its results folder.
func Report(w io.Writer, name string, r *results.Run, curves []results.Curve) error {
	return Write(w, Source{Name: name, Run: r, Curves: curves})
}
