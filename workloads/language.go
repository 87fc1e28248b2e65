package workloads

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// key is a key of the language. It is declared by the tags of a field:
//
//	key          its name
//	form         what a value looks like: one of forms
//	least, most  bounds of a number or a distribution
//	need         what is expected, if the key must be there
//	not          the keys that it excludes
//	of           the operations that know it; without the tag all do
//	doc          what it means; of a phase the tag is called like the section that has the key, and of a population
//	             of rows it is patterns
//
// The decoder, --set, completion, the reference and the JSON Schema walk these tags.
type key struct {
	name, form, doc, need string
	least, most           string
	not, of               []string
	field                 []int // index of the field
}

// section is a mapping of the language: the keys of a type that have one of some tags.
type section struct {
	name, doc string
	keys      []key
	names     []string // of the keys
}

// sectionOf returns the section of the keys that a type declares with one of the tags.
func sectionOf(name, doc string, of any, tags ...string) section {
	s := section{name: name, doc: doc}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		k := key{name: f.Tag.Get("key"), form: f.Tag.Get("form"), need: f.Tag.Get("need"), field: f.Index}
		k.least, k.most = f.Tag.Get("least"), f.Tag.Get("most")
		k.not, k.of = strings.Fields(f.Tag.Get("not")), strings.Fields(f.Tag.Get("of"))
		for _, tag := range tags {
			if doc, ok := f.Tag.Lookup(tag); ok {
				k.doc = doc
				s.add(k)
			}
		}
	}
	return s
}

func (s *section) add(k key) { s.keys, s.names = append(s.keys, k), append(s.names, k.name) }

// forOp has the keys of the section that an operation knows.
func (s section) forOp(op Op) (its section) {
	for _, k := range s.keys {
		if len(k.of) == 0 || slices.Contains(k.of, op.String()) {
			its.add(k)
		}
	}
	return its
}

var sections = []section{
	sectionOf("workload", "A workload file.", Workload{}, "doc"),
	sectionOf("mail", "Generated messages. With --mail FILE only recipients counts.", Mail{}, "doc"),
	sectionOf("attachments", "Which messages carry files.", Attachments{}, "doc"),
	sectionOf("population", "Who has how much mail before the first operation.", Population{}, "doc"),
	sectionOf("access", "Which users, folders and messages operations use. A phase, a stream or an operation may have its "+
		"own access.", Keys{}, "doc"),
	sectionOf("values", "Values of a column of a schema: {TABLE: {COLUMN: …}}.", Values{}, "doc"),
	sectionOf("conclusion", "Sentences that the run completes with its metrics.", Answer{}, "doc"),
	sectionOf("trials", "How many trials a run has. Trials are interleaved: in each the models and engines run in the "+
		"opposite order of the trial before.", Trials{}, "doc"),
	sectionOf("load", "The first phase: delivers the population's mail in order of arrival.", Phase{}, "load"),
	sectionOf("settle", "Waits until the engine is quiet.", Phase{}, "settle"),
	sectionOf("drop-caches", "Reopens the store with empty caches.", Phase{}, "cold"),
	sectionOf("interrupt", "Interrupts a move and a delete of several messages after each of their writes, and reports the "+
		"state after each. It uses its own\nstore, which is removed at the end.", Phase{}, "interrupt"),
	sectionOf("measure", "Runs operations and reports them. warmup has the same keys. It runs operations until service "+
		"times are steady, at most for its duration,\n"+
		"and has the mix and pace of the next measure phase unless it has its own.", Phase{}, "measure", "pace"),
	sectionOf("stream", "One of the concurrent streams of a phase. All have a rate, or all have clients.", Phase{}, "stream",
		"pace"),
	sectionOf("replay", "Operations from a file, one JSON object a line: see 'Trace files' below.", Replay{}, "doc"),
	sectionOf("repeat", "In a session: some steps, several times over.", repetition{}, "doc"),
	sectionOf("mix", "The operations with their weights. Instead of a number, use {weight: 50, …} with these keys to define "+
		"an operation. The operations are "+strings.Join(OpNames(), ", ")+".", How{}, "mix", "doc"),
	sectionOf("session", "Steps, in order: an operation, or {OPERATION: {…}} with the keys of a mix but for weight, and "+
		"these; or {repeat: {…}}. All steps are of one user and one folder. Steps after an open work on the message that "+
		"was opened.", Step{}, "step"),
	sectionOf("expect", "Thresholds, each a sign (<, <=, > or >=) and a value: a time, a share such as 0.1%, or a rate. A "+
		"metric covers all operations together, or one operation if it begins with its name (list.p99). Response times "+
		"cover all scheduled operations, service and wait times only successful ones. The metrics are "+
		strings.Join(Metrics, ", ")+".", selects{}, "doc"),
}

// language are the sections by name, and those that the reference does not list.
var language = map[string]section{
	"rows": sectionOf("", "", Population{}, "patterns"), "step": sectionOf("", "", Step{}, "step", "doc"),
	"ramp": sectionOf("", "", ramp{}, "doc"), "burst": sectionOf("", "", burst{}, "doc"),
}

// selects has the keys of expect whose bounds hold for one model, engine, phase or stream.
type selects struct {
	Models  struct{} `key:"models" form:"expect" doc:"bounds for one model, in place of those for all: {james: {list.p99: <50ms}}"`
	Engines struct{} `key:"engines" form:"expect" doc:"the same for one engine"`
	Phases  struct{} `key:"phases" form:"expect" doc:"the same for one measured phase"`
	Streams struct{} `key:"streams" form:"expect" doc:"thresholds for a stream's own metrics: {inbound: {achieved: \">=99%\"}}"`
}

// form is what a value looks like.
type form struct {
	text   string   // in a word or two
	schema object   // of the JSON Schema
	words  []string // all values, if there are few
	below  string   // the section that the value is
	apart  bool     // --set changes nothing below it, or does so in a way of its own
	read   reader   // nil: the value depends on other keys, and what reads the section reads it
}

// reader returns the value at n of a key, which is called what in messages; nil if it has faults.
type reader func(d *decoder, k *key, n *yaml.Node, what string) any

// forms are all forms, by name. They are made at the start, since their readers read sections, whose keys have forms in
// turn.
var forms map[string]form

func init() {
	for _, s := range sections {
		language[s.name] = s
	}
	language[Warmup.String()] = language[Measure.String()]
	forms = map[string]form{
		"version": {text: "1", schema: object{"const": 1}, apart: true},
		"name":    {text: "name", schema: text(nameForm.String()), apart: true, read: (*decoder).text},
		"text":    {text: "text", schema: object{"type": "string"}, read: (*decoder).text},
		"lines": {text: "list", apart: true, read: (*decoder).lines, schema: object{
			"type": []string{"array", "string"}, "minItems": 1, "items": object{"type": "string"},
		}},
		"whole":  {text: "number", schema: object{"type": "integer", "minimum": 0}, read: (*decoder).whole},
		"share":  {text: "0 to 1", schema: object{"type": "number", "minimum": 0, "maximum": 1}, read: (*decoder).number},
		"weight": {text: "number", schema: object{"type": "number", "minimum": 0}, read: (*decoder).number},
		"truth": {
			text: "true, false", schema: object{"type": "boolean"}, words: []string{"true", "false"}, read: (*decoder).truth,
		},
		"time":       {text: "time", schema: ref("time"), read: (*decoder).duration},
		"size":       {text: "size", schema: ref("size"), read: (*decoder).size},
		"sizes":      {text: "distribution", schema: ref("sizes"), read: (*decoder).sizes},
		"times":      {text: "distribution", schema: ref("times"), read: (*decoder).sizes},
		"rate":       {text: "rate, shape", schema: ref("shape"), read: (*decoder).rate},
		"plain rate": {text: "rate", schema: ref("rate"), read: (*decoder).rate},
		"choice":     {text: "choice", schema: ref("choice"), words: choices[:3], read: (*decoder).choice},
		"users":      {text: "choice", schema: ref("users"), words: choices, read: (*decoder).choice},
		"arrivals": {
			text: "word", schema: object{"enum": arrivalNames[:Closed]}, words: arrivalNames[:Closed], read: (*decoder).word,
		},
		"flags": {text: "words", read: (*decoder).flags, schema: anyOf(object{"enum": flagNames}, object{
			"type": "array", "minItems": 1, "items": object{"enum": flagNames},
		})},
		"mix":     {text: "operations", schema: ref("mix")},
		"session": {text: "steps", schema: ref("session"), apart: true},
		"streams": {text: "list", apart: true, schema: object{
			"type": "array", "minItems": 1, "maxItems": MaxStreams, "items": ref("stream"),
		}},
		"phases": {text: "list", apart: true, schema: object{"type": "array", "minItems": 2, "items": ref("phase")}},
		"access": {text: "see access", schema: ref("access"), below: "access", read: (*decoder).access},
		"mail":   {text: "see mail", schema: ref("mail"), below: "mail"},
		"attachments": {
			text: "see there", schema: ref("attachments"), below: "attachments", read: (*decoder).attachments,
		},
		"population": {text: "see there", schema: ref("population"), below: "population", read: (*decoder).population},
		"values": {text: "see values", apart: true, read: (*decoder).values, schema: object{
			"type": "object", "additionalProperties": object{"type": "object", "additionalProperties": ref("values")},
		}},
		"replay":     {text: "see replay", schema: ref("replay"), below: "replay"},
		"trials":     {text: "see there", schema: ref("trials"), below: "trials"},
		"conclusion": {text: "see there", schema: ref("conclusion"), below: "conclusion", apart: true},
		"expect":     {text: "bounds", schema: ref("expect"), apart: true},
		"sweep":      {text: "see there", schema: ref("sweep"), apart: true},
		"engines":    {text: "settings", schema: object{"type": "object"}, apart: true, read: (*decoder).engines},
		"models": {text: "settings", apart: true, read: (*decoder).models, schema: object{
			"type": "object", "additionalProperties": object{
				"type":                 "object",
				"additionalProperties": anyOf(ref("size"), object{"type": "integer", "minimum": 1}, text("^[a-z][a-z0-9-]*$")),
			},
		}},
	}
}

// Complete returns the keys and values that --set may have after a text, up to the next part of a key: KEY=, and
// KEY=VALUE if the language lists the values. A key inside a list, such as that of one stream of several, has no path.
func (known Known) Complete(w *Workload, typed string) (found []string) {
	offer := func(path string) {
		if rest, ok := strings.CutPrefix(path, typed); ok {
			if at := strings.IndexByte(rest, '.'); at >= 0 {
				rest = rest[:at+1]
			}
			found = append(found, typed+rest)
		}
	}
	var below func(prefix string, s section)
	below = func(prefix string, s section) {
		for _, k := range s.keys {
			f, name := forms[k.form], prefix+k.name
			switch {
			case f.apart:
			case f.below != "":
				below(name+".", language[f.below])
			case k.form == "mix":
				for _, op := range w.Patterns.Names() {
					offer(name + "." + op + "=")
				}
			default:
				offer(name + "=")
			}
			for _, word := range f.words {
				offer(name + "=" + word)
			}
		}
	}
	below("", language["workload"])
	for i := range w.Phases {
		below("phases."+w.Phases[i].Name+".", language[w.Phases[i].Kind.String()])
	}
	for engine, words := range known.Engines {
		for _, setting := range words.Settings {
			offer("engines." + engine + "." + setting + "=")
		}
	}
	for model, parameters := range known.Models {
		for _, p := range parameters {
			offer("models." + model + "." + p.Name + "=")
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// bounds are the bounds of a key that other packages know, too.
var bounds = map[string]uint64{
	"trials": MaxTrials, "message": uint64(MaxMessage), "recipients": MaxRecipients, "messages": MaxMessages,
	"users": MaxUsers, "folders": MaxFolders, "messages in a folder": MaxFolderMessages, "operations": PhaseMessages,
	"clients": maxClients, "weight": maxWeight,
}

// within are the bounds of the key.
func (k *key) within() (least, most uint64) {
	most, named := bounds[k.most]
	if !named {
		most, _ = strconv.ParseUint(k.most, 10, 64)
	}
	least, _ = strconv.ParseUint(k.least, 10, 64)
	return least, most
}

// ErrPopulation says that a workload's population is too large.
var ErrPopulation = errors.New("population is too large")

// CheckPopulation refuses a population with more folders or messages in all than it may have.
func CheckPopulation(folders, messages float64) error {
	if folders > maxAllFolders || messages > maxAllMessages {
		return fmt.Errorf("%w: %.0f folders or more in all (users × folders), at most %d, and %.0f messages, at most %d",
			ErrPopulation, folders, maxAllFolders, messages, maxAllMessages)
	}
	return nil
}

// LoadSpan is the time in which the mail of a load arrived.
const LoadSpan = 365 * 24 * time.Hour

// Bounds of a workload. A population must fit in memory and in 32-bit numbers: a run
// keeps some hundred bytes a folder, and up to 32 a message.
const (
	MaxUsers          = 10_000_000
	MaxFolders        = 1000 // of a user
	MaxFolderMessages = 100_000_000
	maxAllFolders     = 20_000_000
	maxAllMessages    = 1_000_000_000
	MaxRecipients     = 1000 // mailboxes that one delivery can go to
	MaxMessages       = 1000 // that one operation can be about
	MaxTrials         = 1000 // of a run
	MaxStreams        = 16   // of a phase
	MostSteps         = 1024 // operations of a session
	maxSteps          = 1000 // of a shape
	maxClients        = 10_000
	maxWeight         = 1_000_000
	maxRate           = 100_000_000 // a second, far beyond what a client could issue; the least is one an hour
	maxExponent       = 20          // of a power law; above it all keys but the first have hardly any weight
	// A sweep has so many points.
	fewestPoints, mostPoints = 2, 20
	// PhaseMessages is where the message numbers of a phase begin: Number+1 times this. The
	// load's are below, from 0. A phase has at most so many operations.
	PhaseMessages = 1 << 40
	// MaxMessage bounds body and attachment sizes, because servers refuse larger mail.
	// A larger size that is drawn is cut to it.
	MaxMessage = 50 * strict.MB
	// A message of a given size above LargeMessage has LargeBody bytes of text, and an attachment.
	LargeMessage, LargeBody = 64 << 10, 8 << 10
)
