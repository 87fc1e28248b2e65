package models

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// reused is a session that yields rows in a buffer that it clears after each, as an engine may.
type reused struct {
	drivers.Session
	rows []string
}

func (r *reused) Read(_ context.Context, _ drivers.Statement, _ []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	for _, text := range r.rows {
		row := []drivers.Value{drivers.TextBytes([]byte(text))}
		if err := yield(row); err != nil {
			return err
		}
		clear(row[0].Raw())
		clear(row)
	}
	return nil
}

type oneColumn struct{ drivers.Statement }

func (oneColumn) Pattern() *schemas.Pattern {
	return &schemas.Pattern{Columns: make([]*schemas.Column, 1)}
}

// TestGet: a row is a copy, and nulls if there is none.
func TestGet(t *testing.T) {
	var c Caller[int]
	s := &reused{rows: []string{"text"}}
	c.Start("model", new(int), s)
	if row, err := c.One(t.Context(), oneColumn{}); err != nil || row[0].Str() != "text" {
		t.Errorf("one: %v, %v", row, err)
	}
	s.rows = nil
	if row, err := c.Get(t.Context(), oneColumn{}); err != nil || len(row) != 1 || !row[0].IsNull() {
		t.Errorf("without a row: %v, %v", row, err)
	}
	if _, err := c.One(t.Context(), oneColumn{}); err != ErrNotFound {
		t.Errorf("one without a row: error is %v", err)
	}
}
