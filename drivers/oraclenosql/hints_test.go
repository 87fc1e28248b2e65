package oraclenosql

import (
	"reflect"
	"testing"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/schemas"
)

// TestJSON: text of any characters is the same after its way through JSON.
func TestJSON(t *testing.T) {
	row := types.NewMapValue(map[string]any{"address": "\"a\\b\"<&>\u2028\x01\x7f\U0001f4e7@example.org", "none": types.NullValueInstance})
	got, err := throughJSON(row)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"address": row.Map()["address"], "none": nil}
	if !reflect.DeepEqual(got.Map(), want) {
		t.Errorf("%q became %q", want, got.Map())
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ column, hint, want string }{
		{"v text", "puts: json", ""},
		{"v bigint", "puts: json", "table t: hint puts: json is for tables of text; column v is a bigint"},
		{"v text", "puts: xml", "table t: hint puts: xml: this engine has only puts: json"},
		{"v text", "caching: all", "table t: hint caching: all: this engine has only puts: json"},
	} {
		s, err := schemas.Parse("t.yaml", []byte("schema: 1\nname: s\ntables:\n  t: {partition: [k text, "+c.column+
			"], hints: {oraclenosql: {"+c.hint+"}}}\npatterns:\n  put: {put: t}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := checkHints(s.Tables[0]); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.column, c.hint, got, c.want)
		}
	}
}
