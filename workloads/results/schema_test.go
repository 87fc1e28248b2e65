package results

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// published is the JSON Schema (2020-12) of run.json.
func published(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("run.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(published(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("urn:mailbench:run:3", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:mailbench:run:3")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encoded(t *testing.T, r *Run) string {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteJSON(&buf, r); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaHoldsForRuns(t *testing.T) {
	s := compiled(t)
	least := sample()
	least.Cells, least.Schemas, least.Phases, least.Settings = nil, []Schema{}, []Phase{}, map[string]string{}
	least.Config = Config{Models: []string{}, Engines: []string{}, Durability: "default", Audit: "no"}
	least.Mail, least.Audits, least.Left, least.Ended, least.Machine = nil, nil, nil, "", Machine{}
	for name, r := range map[string]*Run{"sample": sample(), "least": least} {
		if err := validate(t, s, encoded(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	added := strings.Replace(encoded(t, sample()), `"workload":`, `"added": 1, "workload":`, 1)
	if err := validate(t, s, added); err != nil {
		t.Errorf("a field that a later mailbench may add: %v", err)
	}
}

func TestSchemaRefusesBrokenRuns(t *testing.T) {
	s, good := compiled(t), encoded(t, sample())
	for name, change := range map[string][2]string{
		"another format":        {`"format": "mailbench.run/3"`, `"format": "mailbench.run/1"`},
		"no seed":               {`"seed": 18446744073709551615,`, ``},
		"negative seed":         {`"seed": 18446744073709551615`, `"seed": -1`},
		"no date":               {`"started": "2026-11-21T05:27:59Z"`, `"started": "yesterday"`},
		"no key":                {`"trial":1,`, ``},
		"unknown kind of cell":  {`"kind":"drop-caches"`, `"kind":"freezing"`},
		"unknown verdict":       {`"verdict":"ok"`, `"verdict":"fine"`},
		"invalid, no reason":    {`"reason":{"code":"client-delays","text":"client late: without its own delays the p99 would be 675µs and not 1.3ms of all operations"},`, ``},
		"reason without a code": {`"reason":{"code":"client-delays",`, `"reason":{`},
		"doubt is a text":       {`{"code":"not-warm","text":"not steady: the warm-up had not come to rest"}`, `"not steady"`},
		"unknown support":       {`"support":"native"`, `"support":"partly"`},
		"unknown durability":    {`"durability":"power"`, `"durability":"strong"`},
		"p99.9 misnamed":        {`"p99_9"`, `"p999"`},
		"count is no integer":   {`"count":15000`, `"count":15000.5`},
		"negative count":        {`"dropped":40`, `"dropped":-40`},
		"ops is a list":         {`"ops":{}`, `"ops":[]`},
		"no doubts":             {`"doubts":[]`, `"doubts":null`},
		"digest is no digest":   {`"sha256": "0123`, `"sha256": "x123`},
	} {
		broken := strings.Replace(good, change[0], change[1], 1)
		if broken == good {
			t.Errorf("%s: the sample has no %s", name, change[0])
		} else if validate(t, s, broken) == nil {
			t.Errorf("%s: the schema does not refuse it", name)
		}
	}
}

// node has the parts of a schema that TestSchemaAndTypesAgree reads.
type node struct {
	Ref         string          `json:"$ref"`
	Type        string          `json:"type"`
	Description string          `json:"description"`
	Required    []string        `json:"required"`
	Properties  map[string]node `json:"properties"`
	Items       *node           `json:"items"`
	Values      *node           `json:"additionalProperties"`
	Defs        map[string]node `json:"$defs"`
}

// Every field that a run can have is in the schema with its type and a
// description, and is required if it is always written; and the other way round.
func TestSchemaAndTypesAgree(t *testing.T) {
	var root node
	if err := json.Unmarshal(published(t), &root); err != nil {
		t.Fatal(err)
	}
	root.agree(t, &root, "run", reflect.TypeFor[Run]())
}

func (root *node) agree(t *testing.T, n *node, path string, typ reflect.Type) {
	t.Helper()
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		def := root.Defs[name]
		n = &def
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number",
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
		reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
	}[typ.Kind()]
	if n.Type != want {
		t.Errorf("%s is %q in the schema, want %q", path, n.Type, want)
		return
	}
	switch typ.Kind() {
	case reflect.Slice:
		root.agree(t, n.Items, path+"[]", typ.Elem())
	case reflect.Map:
		root.agree(t, n.Values, path+"{}", typ.Elem())
	case reflect.Struct:
		root.agreeFields(t, n, path, typ)
	}
}

func (root *node) agreeFields(t *testing.T, n *node, path string, typ reflect.Type) {
	t.Helper()
	var names, required []string
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		if options == "" {
			required = append(required, name)
		}
		property, ok := n.Properties[name]
		if !ok {
			t.Errorf("the schema lacks %s.%s", path, name)
			continue
		}
		if property.Description == "" {
			t.Errorf("the schema does not describe %s.%s", path, name)
		}
		root.agree(t, &property, path+"."+name, f.Type)
	}
	for name := range n.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("the schema has %s.%s, which no run has", path, name)
		}
	}
	slices.Sort(required)
	listed := slices.Sorted(slices.Values(n.Required))
	if !slices.Equal(listed, required) {
		t.Errorf("%s requires %q, always written are %q", path, listed, required)
	}
}

// A definition that nothing refers to describes nothing.
func TestSchemaUsesItsDefinitions(t *testing.T) {
	var root node
	if err := json.Unmarshal(published(t), &root); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(root.Defs)) {
		if !strings.Contains(string(published(t)), `"#/$defs/`+name+`"`) {
			t.Errorf("nothing refers to %s", name)
		}
	}
}
