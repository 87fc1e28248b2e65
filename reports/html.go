package reports

import "io"

func WriteHTML(w io.Writer, r *Run, curves []Curve) error { return nil }
