package reports

import (
	"bytes"
	"encoding/json"
	"slices"
)

// cellsApart writes a run as JSON that people can read and tools can search by
// lines: indented, with each cell on a line of its own.
func cellsApart(r *Run) ([]byte, error) {
	head := *r
	head.Cells = nil
	b, err := json.MarshalIndent(&head, "", "  ")
	if err != nil {
		return nil, err
	}
	const empty = `"cells": null`
	at := bytes.LastIndex(b, []byte(empty))
	tail := slices.Clone(b[at+len(empty):])
	b = append(b[:at], `"cells": [`...)
	for i := range r.Cells {
		cell, err := json.Marshal(&r.Cells[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n    "...), cell...)
	}
	b = append(append(b, "\n  ]"...), tail...)
	return append(b, '\n'), nil
}
