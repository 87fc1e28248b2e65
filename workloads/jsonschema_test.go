package workloads

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:mailbench:workload", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("urn:mailbench:workload")
}

// check holds a YAML text against the schema.
func check(t *testing.T, s *jsonschema.Schema, src []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// The schema takes every bundled workload and every example, and refuses files with
// misspelt words or values of a wrong kind, each key by itself.
func TestJSONSchema(t *testing.T) {
	s := compiledSchema(t)
	_, example, _ := strings.Cut(guide, "# yaml-language-server")
	_, example, _ = strings.Cut(example, "\n")
	example, _, _ = strings.Cut(example, "\nA phase with")
	several, err := os.ReadFile("plan/testdata/several.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good := map[string][]byte{"several": several, "the guide": []byte(example)}
	for _, name := range BundledNames() {
		good[name], _ = bundled.ReadFile(name + ".yaml")
	}
	shop := "{version: 1, name: shop, population: {rows: 100}, phases: [load, {measure: {clients: 1, mix: {put: 2}}}]}"
	if err := check(t, s, []byte(shop)); err != nil {
		t.Errorf("the workload of a schema: %v", err)
	}
	for name, src := range good {
		if _, err := Parse(name, src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := check(t, s, src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A misspelt word anywhere is refused.
		var root yaml.Node
		if err := yaml.Unmarshal(src, &root); err != nil {
			t.Fatal(err)
		}
		eachKey(&root, "", func(path string, k *yaml.Node) {
			if strings.HasPrefix(path, ".sweep.") || strings.HasPrefix(path, ".models.") {
				return // of which the schema knows no words
			}
			for _, of := range []string{"engines", "expect.models", "expect.phases", "expect.streams"} {
				if at, below, ok := strings.Cut(path, of+"."); ok && (at == "." || of == "engines") && (of == "engines" || !strings.Contains(below, ".")) {
					return // of which the schema knows no words
				}
			}
			was := k.Value
			k.Value += "x"
			bad, err := yaml.Marshal(&root)
			if err != nil {
				t.Fatal(err)
			}
			if check(t, s, bad) == nil {
				t.Errorf("%s: the schema takes %s", name, k.Value)
			}
			k.Value = was
		})
	}
	for _, name := range []string{"words", "values", "list", "missing"} {
		src, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if check(t, s, src) == nil {
			t.Errorf("the schema takes testdata/%s.yaml", name)
		}
	}
}

func eachKey(n *yaml.Node, path string, do func(path string, k *yaml.Node)) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			do(path+"."+c.Value, c)
			continue
		}
		below := path
		if n.Kind == yaml.MappingNode {
			below += "." + n.Content[i-1].Value
		}
		eachKey(c, below, do)
	}
}

// The reference names every key and operation, fits a terminal, and says what every form is.
func TestReference(t *testing.T) {
	text := Reference()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, op := range OpNames() {
		if !strings.Contains(text, op) {
			t.Errorf("the reference does not name %s", op)
		}
	}
	var keys []key
	for _, s := range sections {
		keys = append(keys, s.keys...)
	}
	for _, k := range keys {
		f := forms[k.form]
		if f.text == "" || f.schema == nil || k.doc == "" || !strings.Contains(text, "  "+k.name+" ") {
			t.Errorf("%s: form %q is %+v", k.name, k.form, f)
		}
	}
}
