package workloads

import (
	"encoding/json"
	"slices"
	"strings"
)

// JSONSchema returns the JSON Schema of the language, for editors. What no schema can
// say, such as that a phase has a rate or clients, only Parse checks.
func JSONSchema() []byte {
	defs := object{}
	for _, s := range sections {
		defs[s.name] = mapping(s.doc, s.keys, required[s.name]...)
	}
	defs["size"] = object{"type": []string{"integer", "string"}, "minimum": 0, "pattern": `^[0-9.]+ *([KMG]i?)?B?$`}
	defs["time"] = text(`^([0-9.]+(ns|us|µs|ms|s|m|h))+$`)
	defs["rate"] = text(`^[0-9.]+ *(/s|/min|/h)$`)
	defs["sizes"] = distribution("size", "constant", "uniform", "lognormal", "pareto", "zipf", "empirical")
	defs["times"] = distribution("time", "constant", "uniform", "lognormal", "pareto", "empirical")
	defs["shape"] = anyOf(ref("rate"), one(object{
		"ramp":  fixed(object{"from": ref("rate"), "to": ref("rate"), "over": ref("time")}, "from", "to"),
		"steps": object{"type": "array", "items": ref("rate"), "minItems": 2, "maxItems": maxSteps},
		"burst": fixed(object{"base": ref("rate"), "peak": ref("rate"), "every": ref("time"), "for": ref("time")},
			"peak", "every", "for"),
		"day": fixed(object{
			"mean": ref("rate"), "length": ref("time"),
			"hours": object{"type": "array", "items": object{"type": "number", "minimum": 0}, "minItems": 24, "maxItems": 24},
		}, "mean"),
	}))
	theta := fixed(object{"theta": object{"type": "number", "minimum": 0.01, "maximum": 20}})
	choices := []string{"uniform", "zipf", "latest", "largest"}
	defs["choice"] = anyOf(object{"enum": choices}, one(object{
		"uniform": fixed(object{}), "zipf": theta, "latest": theta, "largest": theta,
	}))
	mix, steps := object{}, object{"repeat": ref("repeat")}
	for op := range Op(NumOps) {
		weight := object{"type": "number", "minimum": 0, "maximum": maxWeight}
		mix[op.String()] = anyOf(weight, mapping("", slices.Concat([]key{
			{"weight", formWeight, "how often, relative to the others"},
		}, howOf(op)), "weight"))
		steps[op.String()] = mapping("", slices.Concat(stepKeys, howOf(op)))
	}
	defs["mix"] = fixed(mix)
	defs["session"] = object{"type": "array", "minItems": 1, "items": anyOf(object{"enum": OpNames()}, one(steps))}
	defs["warmup"] = defs["measure"]
	defs["bound"] = text(`^[<>]=? *[0-9]`)
	defs["expect"] = expectSchema()
	value := object{"type": []string{"number", "string"}}
	limits := fixed(object{
		"from": value, "to": value,
		"factor": object{"type": "number", "exclusiveMinimum": 1}, "step": value,
	}, "from", "to")
	limits["minProperties"], limits["maxProperties"] = 3, 3
	defs["sweep"] = object{"type": "object", "additionalProperties": anyOf(
		object{"type": "array", "items": value, "minItems": fewestPoints, "maxItems": mostPoints}, limits, ref("sweep"),
	)}
	kinds, bare := object{}, []string{}
	for k := range PhaseKind(len(phaseNames)) {
		kinds[k.String()] = ref(k.String())
		if !(&Phase{Kind: k}).Runs() {
			bare = append(bare, k.String())
		}
	}
	defs["phase"] = anyOf(object{"enum": bare}, one(kinds))
	root := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "mailbench workload, version 1",
		"$ref": "#/$defs/workload", "$defs": defs,
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and maps always encode
	}
	return append(b, '\n')
}

// expectSchema is the schema of expect: figures of one operation or of all together, written as
// one key or as several, one below the other.
func expectSchema() object {
	var whole, below []string // figures, and those behind a prefix such as lag
	for _, f := range Figures {
		whole = append(whole, strings.ReplaceAll(f.Name, ".", `\.`))
		if _, figure, ok := strings.Cut(f.Name, "."); ok && figure != "9" {
			below = append(below, strings.ReplaceAll(figure, ".", `\.`))
		}
	}
	slices.Sort(below)
	ops, figures := strings.Join(opNames[:], "|"), strings.Join(whole, "|")+"|(lag|service)\\.p999|p999"
	few := strings.Join(slices.Compact(below), "|") + "|p999"
	all := func(key string, value object) object { return object{"^(" + key + ")$": value} }
	prefixed := object{"type": "object", "patternProperties": all(few, ref("bound")), "additionalProperties": false}
	of := all(figures, ref("bound"))
	of["^(lag|service)$"] = prefixed
	top := all("(("+ops+")\\.)?("+figures+")", ref("bound"))
	top["^(("+ops+")\\.)?(lag|service)$"] = prefixed
	top["^("+ops+")$"] = object{"type": "object", "patternProperties": of, "additionalProperties": false}
	selects := object{}
	for _, s := range expectSelects {
		selects[s.name] = object{"description": s.doc, "type": "object", "additionalProperties": ref("expect")}
	}
	return object{"type": "object", "properties": selects, "patternProperties": top, "additionalProperties": false}
}

// object is a JSON object.
type object = map[string]any

// required are the keys that sections must have.
var required = map[string][]string{
	"workload": {"version", "name", "population", "phases"}, "attachments": {"share"}, "population": {"users", "messages"},
	"replay": {"trace"}, "repeat": {"times", "steps"},
}

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
func mapping(doc string, keys []key, required ...string) object {
	properties := object{}
	for _, k := range keys {
		v := schemaOf(k.form)
		properties[k.name] = object{"description": k.doc, "allOf": []object{v}}
	}
	o := fixed(properties, required...)
	if doc != "" {
		o["description"] = doc
	}
	return o
}

// distribution is the schema of a value, or of one of the named distributions over it.
func distribution(value string, names ...string) object {
	number := func(least float64) object { return object{"type": "number", "minimum": least} }
	v := ref(value)
	all := object{
		"constant": v, "uniform": fixed(object{"min": v, "max": v}, "min", "max"),
		"lognormal": fixed(object{"median": v, "p99": v}, "median", "p99"),
		"pareto":    fixed(object{"min": v, "alpha": number(0.01), "max": v}, "min", "alpha", "max"),
		"zipf":      fixed(object{"s": number(0.01), "max": v}, "s", "max"),
		"empirical": object{"type": "array", "minItems": 2, "items": object{
			"type": "array", "minItems": 2, "maxItems": 2,
			"prefixItems": []object{v, {"type": "number", "minimum": 0, "maximum": 1}},
		}},
	}
	chosen := object{}
	for _, n := range names {
		chosen[n] = all[n]
	}
	return anyOf(v, one(chosen))
}

// schemaOf is the schema of a value of that form.
func schemaOf(f form) object {
	switch f {
	case formWhole:
		return object{"type": "integer", "minimum": 0}
	case formShare:
		return object{"type": "number", "minimum": 0, "maximum": 1}
	case formTruth:
		return object{"type": "boolean"}
	case formWeight:
		return object{"type": "number", "minimum": 0}
	case formVersion:
		return object{"const": 1}
	case formName:
		return text(nameForm.String())
	case formArrivals:
		return object{"enum": arrivalNames[:Closed]}
	case formMissing:
		return object{"enum": missingNames[:]}
	case formStreams:
		return object{"type": "array", "minItems": 1, "maxItems": MaxStreams, "items": ref("stream")}
	case formPhases:
		return object{"type": "array", "minItems": 2, "items": ref("phase")}
	case formFlags:
		return anyOf(object{"enum": flagNames}, object{"type": "array", "minItems": 1, "items": object{"enum": flagNames}})
	case formWidth:
		return anyOf(ref("time"), object{"type": "number", "exclusiveMinimum": 0, "maximum": 1})
	case formEngines:
		return object{"type": "object"}
	case formModels:
		value := anyOf(ref("size"), object{"type": "integer", "minimum": 1}, text(parameterWord.String()))
		return object{"type": "object", "additionalProperties": object{"type": "object", "additionalProperties": value}}
	case formSize:
		return ref("size")
	case formLines:
		return object{"type": []string{"array", "string"}, "minItems": 1, "items": object{"type": "string"}}
	}
	if name, ok := map[form]string{
		formTime: "time", formSizes: "sizes", formTimes: "times", formRate: "shape", formKeys: "keys", formChoice: "choice",
		formMix: "mix", formSession: "session", formMail: "mail", formAttachments: "attachments",
		formPopulation: "population", formReplay: "replay", formExpect: "expect", formSweep: "sweep",
		formAnswer: "answer", formTrials: "trials",
	}[f]; ok {
		return ref(name)
	}
	return object{"type": "string"}
}
