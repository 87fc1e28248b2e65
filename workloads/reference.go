package workloads

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas/words"
)

// guide is the text of the reference before its tables, and guideEnd the text after them.
var (
	//go:embed begin_guide.txt
	guide string
	//go:embed end_guide.txt
	guideEnd string
)

// Reference is the reference of the language, in lines of at most 80 columns.
func Reference() string {
	var b strings.Builder
	b.WriteString(guide)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(s.name[:1])+s.name[1:])
		wrap(&b, "  ", strings.ReplaceAll(s.doc, "\n", " "))
		for _, k := range s.keys {
			if len(k.of) > 0 {
				k.doc = "(" + strings.Join(k.of, ", ") + ") " + k.doc
			}
			wrap(&b, fmt.Sprintf("  %-12s %-13s ", k.name, forms[k.form].text), k.doc)
		}
	}
	b.WriteString("\n" + guideEnd)
	return b.String()
}

// wrap writes text after a head, in lines of at most 80 columns that begin below its first word.
func wrap(b *strings.Builder, head, text string) {
	for _, line := range words.Wrap(head, text, utf8.RuneCountInString(head), 80) {
		b.WriteString(line + "\n")
	}
}

// JSONSchema returns the JSON Schema of the language, for editors. Rules that no schema can
// express, such as that a phase has a rate or clients, only Parse checks, and workloads of a schema, whose operations
// have any name.
func JSONSchema() []byte {
	rows := object{"required": []string{"rows"}}
	root := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "mailbench workload, version 1",
		"if":   object{"required": []string{"population"}, "properties": object{"population": rows}},
		"then": object{"type": "object"}, "else": ref("workload"), "$defs": definitions(),
	}
	b, _ := json.MarshalIndent(root, "", "  ") // of texts, numbers and lists
	return append(b, '\n')
}

// definitions are the parts of the JSON Schema.
func definitions() object {
	defs := object{}
	for _, s := range sections {
		defs[s.name] = mapping(s)
	}
	defs["size"] = object{"type": []string{"integer", "string"}, "minimum": 0, "pattern": `^[0-9.]+ *([KMG]i?)?B?$`}
	defs["time"] = text(`^([0-9.]+(ns|us|µs|ms|s|m|h))+$`)
	defs["rate"] = text(`^[0-9.]+ *(/s|/min|/h)$`)
	defs["sizes"] = distribution("size")
	defs["times"] = distribution("time")
	defs["shape"] = anyOf(ref("rate"), one(object{
		"ramp": mapping(language["ramp"]), "burst": mapping(language["burst"]),
		"steps": object{"type": "array", "items": ref("rate"), "minItems": 2, "maxItems": maxSteps},
	}))
	theta := fixed(object{"theta": object{"type": "number", "minimum": 0.01, "maximum": maxExponent}})
	popular := object{"uniform": fixed(object{}), "zipf": theta, "latest": theta}
	defs["choice"] = anyOf(object{"enum": choices[:3]}, one(popular))
	defs["users"] = anyOf(ref("choice"), object{"const": "largest"}, one(object{"largest": theta}))
	mix, steps := object{}, object{"repeat": ref("repeat")}
	for op := range Op(NumOps) {
		weight := object{"type": "number", "minimum": 0, "maximum": maxWeight}
		mix[op.String()] = anyOf(weight, mapping(language["mix"].forOp(op)))
		steps[op.String()] = mapping(language["step"].forOp(op))
	}
	defs["mix"] = fixed(mix)
	defs["session"] = object{"type": "array", "minItems": 1, "items": anyOf(object{"enum": OpNames()}, one(steps))}
	defs["warmup"] = defs["measure"]
	defs["bound"] = text(`^[<>]=? *[0-9]`)
	selects := object{}
	for _, k := range language["expect"].keys {
		selects[k.name] = object{"description": k.doc, "type": "object", "additionalProperties": ref("expect")}
	}
	// A metric is of one operation or of all together. Each dot of its name may be a mapping.
	ops, metrics := strings.Join(OpNames(), "|"), strings.ReplaceAll(strings.Join(Metrics, "|"), ".", `\.`)
	defs["expect"] = fixed(selects)
	defs["expect"].(object)["patternProperties"] = object{
		"^((" + ops + `)\.)?(` + metrics + ")$": ref("bound"), "^(" + ops + "|service|wait)$": ref("expect"),
	}
	value := object{"type": []string{"number", "string"}}
	defs["sweep"] = object{"type": "object", "additionalProperties": anyOf(object{
		"type": "array", "items": value, "minItems": fewestPoints, "maxItems": mostPoints,
	}, ref("sweep"))}
	kinds, bare := object{}, []string{}
	for k := range PhaseKind(len(phaseNames)) {
		kinds[k.String()] = ref(k.String())
		if !(&Phase{Kind: k}).Runs() {
			bare = append(bare, k.String())
		}
	}
	defs["phase"] = anyOf(object{"enum": bare}, one(kinds))
	return defs
}

// object is a JSON object.
type object = map[string]any

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func anyOf(all ...object) object { return object{"anyOf": all} }

func text(pattern string) object { return object{"type": "string", "pattern": pattern} }

// fixed is a mapping with these keys only.
func fixed(properties object, required ...string) object {
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// one is a mapping with exactly one of these keys.
func one(properties object) object {
	o := fixed(properties)
	o["minProperties"], o["maxProperties"] = 1, 1
	return o
}

// mapping is a section of the language.
func mapping(s section) object {
	properties, required := object{}, []string(nil)
	for _, k := range s.keys {
		properties[k.name] = object{"description": k.doc, "allOf": []object{forms[k.form].schema}}
		if k.need != "" {
			required = append(required, k.name)
		}
	}
	o := fixed(properties, required...)
	if s.doc != "" {
		o["description"] = s.doc
	}
	return o
}

// distribution is the schema of a value, or of one of the distributions over it.
func distribution(value string) object {
	v := ref(value)
	all := object{"constant": v, "empirical": object{"type": "array", "minItems": 2, "items": object{
		"type": "array", "minItems": 2, "maxItems": 2,
		"prefixItems": []object{v, {"type": "number", "minimum": 0, "maximum": 1}},
	}}}
	for name, one := range distributions {
		properties, names := object{}, []string(nil)
		for _, k := range one.keys {
			properties[k.name], names = v, append(names, k.name)
			if k.form == "exponent" {
				properties[k.name] = object{"type": "number", "minimum": 0.01}
			}
		}
		if value != "time" || name != "zipf" {
			all[name] = fixed(properties, names...)
		}
	}
	return anyOf(v, one(all))
}
