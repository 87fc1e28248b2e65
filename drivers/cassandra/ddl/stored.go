package ddl

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// Stored returns the tables, indexes and options that Cassandra keeps of a schema, in canonical form.
func Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	own := schemas.Canonical(sch)
	for _, t := range own.Tables {
		options, err := options(t)
		if err != nil {
			return nil, err
		}
		kind, err := indexKind(t)
		if err != nil {
			return nil, err
		}
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool { return !t.OneColumn(x) })
		t.Hints = nil
		if t.Header() {
			continue
		}
		settings := map[string]string{schemas.ExpirySetting: "0"}
		if len(t.Indexes) > 0 {
			settings[indexesHint] = kind
		}
		more, err := carried(sch.Table(t.Name)) // Canonical leaves out what it says under "other"
		if err != nil {
			return nil, err
		}
		for _, o := range append(options, more...) {
			if o.name == expiryOption {
				o.name = schemas.ExpirySetting
			}
			addSettings(settings, o.name, o.number, o.fields)
		}
		t.Hints = map[string]map[string]string{EngineName: settings}
	}
	return own, nil
}

// addSettings adds an option: a number, or the fields of a map.
func addSettings(settings map[string]string, name, number string, fields map[string]string) {
	if fields == nil {
		settings[name] = number
	}
	for k, v := range fields {
		if k == "class" {
			v = v[strings.LastIndexByte(v, '.')+1:] // the engine names classes in full
		}
		settings[name+"."+k] = v
	}
}
