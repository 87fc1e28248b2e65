package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// WriteJSON writes a run as run.json has it.
func WriteJSON(w io.Writer, r *Run) error {
	b, err := cellsApart(r)
	if err != nil {
		return fmt.Errorf("write results as JSON: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// cellsApart writes a run as JSON that people can read and tools can search by
// lines: indented, with each cell and each search on a line of its own.
func cellsApart(r *Run) ([]byte, error) {
	head := *r
	head.Cells, head.Searches = nil, nil
	b, err := json.MarshalIndent(&head, "", "  ")
	if err != nil {
		return nil, err
	}
	const empty = `"cells": null`
	at := bytes.LastIndex(b, []byte(empty))
	tail := slices.Clone(b[at+len(empty):])
	b = b[:at]
	if len(r.Searches) > 0 {
		if b, err = lines(append(b, `"searches": [`...), r.Searches); err != nil {
			return nil, err
		}
		b = append(b, ",\n  "...)
	}
	if b, err = lines(append(b, `"cells": [`...), r.Cells); err != nil {
		return nil, err
	}
	return append(append(b, tail...), '\n'), nil
}

// lines appends the values of a JSON array, each on a line of its own, and ends the array.
func lines[T any](b []byte, values []T) ([]byte, error) {
	for i := range values {
		text, err := json.Marshal(&values[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n    "...), text...)
	}
	return append(b, "\n  ]"...), nil
}
