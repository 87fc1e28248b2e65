package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("run.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("run.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encoded(t *testing.T, r *Run) string {
	t.Helper()
	var buf bytes.Buffer
	if err := writeJSON(&buf, r); err != nil {
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
	least := &Run{
		Format: Format, Started: "2026-11-21T05:27:59Z", Environment: Environment{MaxProcs: 1, CPUs: 1},
		Settings: map[string]string{}, Digests: map[string]string{}, Cells: []Cell{},
	}
	for name, r := range map[string]*Run{"sample": sample(), "least": least} {
		if err := validate(t, s, encoded(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesBrokenRuns(t *testing.T) {
	s, good := compiled(t), encoded(t, sample())
	for name, change := range map[string][2]string{
		"another format":      {`"format": "mailbench.run/1"`, `"format": "mailbench.run/2"`},
		"no seed":             {`"seed": 18446744073709551615,`, ``},
		"negative seed":       {`"seed": 18446744073709551615`, `"seed": -1`},
		"no date":             {`"started": "2026-11-21T05:27:59Z"`, `"started": "yesterday"`},
		"unknown key":         {`"workload":`, `"extra": 1, "workload":`},
		"unknown verdict":     {`"verdict": "ok"`, `"verdict": "fine"`},
		"invalid, no reason":  {`"reason": "client saturated: 12.0% of operations started late although a worker was free",`, ``},
		"unknown support":     {`"support": "native"`, `"support": "partly"`},
		"unknown durability":  {`"durability": "power"`, `"durability": "strong"`},
		"p99.9 misnamed":      {`"p99_9"`, `"p999"`},
		"count is no integer": {`"count": 15000`, `"count": 15000.5`},
		"negative count":      {`"dropped": 40`, `"dropped": -40`},
		"ops is a list":       {`"ops": {}`, `"ops": []`},
		"no doubts":           {`"doubts": []`, `"doubts": null`},
	} {
		broken := strings.Replace(good, change[0], change[1], 1)
		if broken == good {
			t.Errorf("%s: the sample has no %s", name, change[0])
		} else if validate(t, s, broken) == nil {
			t.Errorf("%s: the schema does not refuse it", name)
		}
	}
}

// Every key that a run can have is in the schema, and the other way round.
func TestSchemaAndTypesAgree(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	r := sample()
	cell := r.Cells[2]
	cell.Trial, cell.Clients = 1, 1
	op := cell.Ops["open"]
	op.Missing = "subject"
	audit := r.Audits[0]
	audit.Unread, audit.BadUIDs, audit.Interrupted = 1, 1, true
	for name, v := range map[string]any{
		"": r, "environment": r.Environment, "mail": r.Mail, "cell": cell, "op": op,
		"latency": Latency{}, "store": StoreCost{}, "engine": cell.Engines, "client": cell.Client,
		"floor": Floor{Op: "list", Error: "none"}, "audit": audit, "interval": cell.Timeline[0],
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		properties := schema.Properties
		if name != "" {
			properties = schema.Defs[name].Properties
		}
		for key := range keys {
			if _, ok := properties[key]; !ok {
				t.Errorf("%q: the schema lacks %q", name, key)
			}
		}
		for key := range properties {
			if _, ok := keys[key]; !ok {
				t.Errorf("%q: the schema has %q, which no run has", name, key)
			}
		}
	}
}
