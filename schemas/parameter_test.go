package schemas

import (
	"strings"
	"testing"
)

const withParameters = `schema: 1
name: s
parameters:
  size: {default: 1KiB, min: 1, max: 1MiB, description: bytes of a piece}
  full: {default: 100, min: 1, max: 1000}
tables:
  t:
    partition: [k text]
    clustering: [n int]
    columns: {data: blob}
    rows:
      - {each: message, pieces: {of: raw, bytes: size}, partition: user, max: full, sizes: {k: address, data: piece}}
patterns:
  some: {get: t, in: n, by: k}
  puts: {batch: [{run: put, each: piece}], parallel: full}
  put: {put: t}
`

// TestParameters: a reference to a parameter has its value, and the schema is written with its name.
func TestParameters(t *testing.T) {
	s, err := Parse("s.yaml", []byte(withParameters))
	if err != nil {
		t.Fatal(err)
	}
	check := func(s *Schema, size, full int) {
		t.Helper()
		r, p := s.Table("t").Rows[0], s.Pattern("puts")
		if r.Piece != size || r.Most != full || p.Parallel != full || s.Values()["size"] != size || s.Values()["full"] != full {
			t.Errorf("pieces of %d, most %d, parallel %d, values %v", r.Piece, r.Most, p.Parallel, s.Values())
		}
	}
	check(s, 1024, 100)
	with, err := s.With(map[string]int{"size": 7})
	if err != nil {
		t.Fatal(err)
	}
	check(with, 7, 100)
	check(s, 1024, 100)
	if string(with.Source) != string(s.Source) {
		t.Error("the text changed with a value")
	}
	for _, want := range []string{"bytes: size", "max: full", "parallel: full", "default: 7", "max: 1MiB", "description: bytes of a piece"} {
		if text := string(Format(with)); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for want, values := range map[string]map[string]int{
		`unknown parameter of s "sise"; did you mean "size"?`:   {"sise": 1},
		`unknown parameter of s "x"; expected one of size, ful`: {"x": 1},
		"s: full must be from 1 to 1000, found 1001":            {"full": 1001},
		"s: size must be from 1 to 1MiB, found 2MiB":            {"size": 2 << 20},
	} {
		if _, err := s.With(values); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v, want %s", values, err, want)
		}
	}
}

// TestParametersWrong: faults have their place.
func TestParametersWrong(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"default: 100", "default: 2000", "5:19: default of parameter full: full must be from 1 to 1000, found 2000"},
		{"default: 100", "default: x", "5:19: default of parameter full must be a number from 1 up, or a size"},
		{"min: 1, max: 1000", "min: 1", `5:3: parameter full: no key "max"`},
		{"  full:", "  Full:", "5:3: parameter Full: a name must be a small letter"},
		{"max: full", "max: fill", `unknown parameter "fill" in max of rows of table t; did you mean "full"?`},
		{"bytes: size", "bytes: size, outside: full, above: 7", "expected outside: PARAMETER, one with words"},
		{"bytes: size", "bytes: size, above: 7", "expected outside: PARAMETER, one with words"},
		{"partition: user, max", "max", "max bounds the rows of the partition of a user or a folder"},
		{"parallel: full", "parallel: size2", `unknown parameter "size2" in parallel of pattern puts`},
	} {
		_, err := Parse("s.yaml", []byte(strings.Replace(withParameters, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
}

// TestBundledParameters: the values of the documents, or ours where they have none.
func TestBundledParameters(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"james":        {"chunk_size": 1 << 20},
		"datastax":     {"chunk_size": 1000 << 10, "overflow_after": 10000, "parallel": 4},
		"elasticinbox": {"block_size": 128 << 10, "blob_threshold": 128 << 10, "blob_store": 1},
	} {
		s, err := Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if s.Values()[key] != value {
				t.Errorf("%s: %v, want %s = %d", name, s.Values(), key, value)
			}
		}
		if _, err := s.With(want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
