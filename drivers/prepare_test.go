package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

const source = `
schema: 1
name: prepared
tables:
  mail: {partition: [user text], clustering: [id int, day int], columns: {size: bigint}, indexes: {by_day: [user, day], by_size: [size]}}
patterns:
  page: {slice: mail, index: by_day, by: user, after: [day, id], fallback: page_by_id}
  page_by_id: {slice: mail, by: user, after: [id, day]}
  grow: {increment: mail, columns: size, fallback: grow_if}
  grow_if: {put-if: mail, columns: size, if: size}
  sized: {slice: mail, by: user, filter: size}
  lost: {slice: mail, index: by_day, by: user}
`

// engine refuses the patterns of a list. It keeps indexes if it refuses none.
type engine struct {
	drivers.Store
	refuses []string
}

func (e engine) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{Engine: "brandnew", EqualIndexes: e.refuses == nil}
}

func (e engine) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	if slices.Contains(e.refuses, p.Name) {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, drivers.ErrUnsupported)
	}
	return &statement{pattern: p}, nil
}

type statement struct {
	drivers.Emulation
	pattern *schemas.Pattern
}

func (s *statement) Pattern() *schemas.Pattern { return s.pattern }

// TestPrepared: an engine that no schema file has heard of runs what it can, and
// the declared fallbacks for the rest; unsupported patterns are known before any call.
func TestPrepared(t *testing.T) {
	s, err := schemas.Parse("prepared.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		refuses     []string
		runs        [2]string // for page and grow
		emulated    bool      // both, and grow is then conditional
		dayAt, idAt int
	}{
		{nil, [2]string{"page", "grow"}, false, 1, 2},
		{[]string{"page", "grow", "lost"}, [2]string{"page_by_id", "grow_if"}, true, 2, 1},
	} {
		p, err := drivers.PrepareAll(t.Context(), engine{refuses: c.refuses}, s)
		if err != nil {
			t.Fatal(err)
		}
		var page, grow, lost drivers.Statement
		if err := p.Fill(map[string]*drivers.Statement{"page": &page, "grow": &grow}); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{page.Pattern().Name, grow.Pattern().Name}; got != c.runs {
			t.Errorf("without %v, %v run; expected %v", c.refuses, got, c.runs)
		}
		// The last is a filter by an indexed column.
		for name, want := range map[string]bool{"page": c.emulated, "grow": c.emulated, "page_by_id": false, "sized": c.emulated} {
			if st, err := p.Get(name); err != nil || (st.Emulates() != nil) != want {
				t.Errorf("without %v, %s is emulated: %t, %v", c.refuses, name, !want, err)
			}
		}
		if day, id, none := p.Arg("page", "day"), p.Arg("page", "id"), p.Arg("page", "size"); day != c.dayAt || id != c.idAt || none != -1 {
			t.Errorf("without %v, the arguments of page are day %d, id %d, size %d", c.refuses, day, id, none)
		}
		if got := p.Conditional("grow"); got != c.emulated || p.Conditional("page") {
			t.Errorf("without %v, grow is conditional: %t", c.refuses, got)
		}
		err = p.Fill(map[string]*drivers.Statement{"page": &page, "lost": &lost})
		if c.refuses == nil && err != nil {
			t.Error(err)
		}
		if c.refuses != nil && (!errors.Is(err, drivers.ErrUnsupported) || !strings.Contains(err.Error(), "pattern lost of schema prepared on brandnew")) {
			t.Errorf("a pattern that the engine cannot run: %v", err)
		}
		if err := p.Fill(map[string]*drivers.Statement{"paeg": &page}); err == nil || !strings.Contains(err.Error(), `schema prepared declares no pattern "paeg"`) {
			t.Errorf("a pattern that is not declared: %v", err)
		}
	}
}
