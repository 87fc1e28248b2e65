package workloads

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// This file is the language: its keys, what values they take, and what they mean. The
// decoder, "mailbench help workload" and the JSON Schema are made from it.

// key is one key of a section.
type key struct {
	name string
	form form
	doc  string
}

// form is what a value looks like.
type form uint8

// The forms. A form that is a section of its own is named like it.
const (
	formText form = iota
	formWhole
	formShare // a number from 0 to 1
	formTruth
	formTime
	formSizes  // a distribution of sizes or counts
	formTimes  // a distribution of times
	formRate   // a rate or a shape
	formKeys   // a section
	formChoice // how keys are chosen
	formArrivals
	formMix
	formSession
	formStreams
	formPhases
	formEngines
	formMail
	formAttachments
	formPopulation
	formFlags
	formWidth
	formReplay
	formVersion
	formName
	formWeight
	formExpect
	formMissing
	formSweep
	formModels
	formSize
	formLines
	formAnswer
	formTrials
)

// section is a mapping of the language.
type section struct {
	name, doc string
	keys      []key
}

var sections = []section{
	{"workload", "A workload file.", []key{
		{"version", formVersion, "version of the language: 1"},
		{"name", formName, "name of the workload, in results"},
		{"doc", formText, "one line for the list of workloads"},
		{"seed", formWhole, "seed of all random numbers (default 1)"},
		{
			"engines", formEngines,
			"where engines are and how their clients are set; 'mailbench engines NAME' lists the settings",
		},
		{"mail", formMail, "what generated messages are like"},
		{"population", formPopulation, "who has how much mail before the first operation"},
		{"keys", formKeys, "which users, folders and messages operations ask for"},
		{"phases", formPhases, "what is done, in order; the first phase is load"},
		{"expect", formExpect, "bounds that measured phases must keep, such as {list.p99: <20ms, errors: <0.1%}"},
		{"sweep", formSweep, "a key and its values, to measure how cost grows with it; see 'Sweeps' below"},
		{
			"models", formModels,
			"parameters of models, such as {james: {chunk_size: 64KiB}}; 'mailbench models NAME' lists those of a model",
		},
		{"answer", formAnswer, "how the run answers the question that doc asks; see 'Answers' below"},
		{"trials", formTrials, "how many trials a run has, and whether they use one store"},
	}},
	{"mail", "What generated messages are like. With --mail FILE only recipients counts.", []key{
		{"body", formSizes, "bytes of text (default lognormal, median 6KB, p99 200KB)"},
		{"html", formShare, "share of messages that carry the text as HTML, too (default 0)"},
		{"attachments", formAttachments, "which messages carry files"},
		{"recipients", formSizes, "mailboxes that one delivery goes to (default 1)"},
	}},
	{"attachments", "Which messages carry files.", []key{
		{"share", formShare, "share of messages with files"},
		{"count", formSizes, "files of such a message (default 1)"},
		{"size", formSizes, "decoded bytes of a file"},
	}},
	{"population", "Who has how much mail before the first operation.", []key{
		{"users", formWhole, "how many users there are"},
		{"folders", formSizes, "folders of a user, the inbox included (default 1)"},
		{"messages", formSizes, "messages in a folder"},
		{"shared", formTruth, "all users have one folder in common; a delivery to several is one message there (default false)"},
	}},
	{
		"keys",
		"Which users, folders and messages operations ask for. A phase, a stream or an operation may have keys of its own.",
		[]key{
			{"users", formChoice, "default zipf; largest: the user with most messages is the most popular"},
			{"folders", formChoice, "of the user; 0 is the inbox (default latest)"},
			{"messages", formChoice, "of the folder; 0 is the newest (default latest)"},
			{"deep", formShare, "share of lists that begin behind a message chosen as above, not at the newest (default 0)"},
		},
	},
	{"answer", "How the run answers the question that doc asks.", []key{
		{"models", formLines, "models that run if nobody names any (default all)"},
		{"says", formLines, "sentences with figures in braces, which the reports fill in"},
	}},
	{"trials", "How many trials a run has. Trials are interleaved: in each the models and engines run in the opposite order of " +
		"the trial before.", []key{
		{"count", formWhole, "how many trials (default 1; of a sweep 2: up and down); --trials changes it for one run"},
		{"reuse", formTruth, "later trials use the store of the first, with all that earlier trials wrote, and run all phases but the " +
			"load (default false: each trial loads a store of its own). Sweeps, shards and --find-max always load"},
	}},
	{"load", "The first phase: delivers the population's mail in order of arrival.", []key{
		{"clients", formWhole, "how many loaders there are (default --workers)"},
	}},
	{"settle", "Waits until the engine is quiet.", nil},
	{"cold", "Reopens the store with empty caches.", nil},
	{"interrupt", "Breaks a move and a delete of several messages off after each of their writes, and says what each leaves. " +
		"It works on a\nstore of its own, which is gone at the end.", []key{
		{"name", formName, "tells several such phases apart (default interrupt)"},
		{"messages", formWhole, "how many messages each is about (default 5)"},
	}},
	{"measure", "Runs operations and reports them. warmup has the same keys. It runs operations until service times are " +
		"steady, at most for its duration,\n" +
		"and does what the measure phase that follows does unless it has a mix or a pace of its own.", append([]key{
		{"name", formName, "tells several measure phases apart (default measure)"},
		{"duration", formTime, "how long the phase is"},
		{"operations", formWhole, "or how many operations it has"},
		{"streams", formStreams, "several streams at once, each with a pace and a mix or session of its own"},
		{"replay", formReplay, "operations from a file, in place of rate and mix"},
		{"workers", formWhole, "how many operations of an open loop may be under way at a time (default: 32 with an engine " +
			"in this process, 512 over a network)"},
		{"missing", formMissing, "what becomes of operations of a mix that a model lacks: skip (default), or replace-rate, " +
			"which draws another"},
	}, streamKeys...)},
	{"stream", "One of the streams that a phase runs at once. All have a rate, or all have clients.", append([]key{
		{"name", formName, "what it is called in results and in expect (default its number, from 1)"},
	}, streamKeys...)},
	{"replay", "Operations from a file, one JSON object a line: see 'Trace files' below.", []key{
		{"trace", formText, "the file"},
		{"speed", formWeight, "how many times as fast as recorded (default 1)"},
	}},
	{"repeat", "In a session: some steps, several times over.", []key{
		{"times", formSizes, "how often"},
		{"chance", formShare, "share of the sessions in which it happens (default 1)"},
		{"steps", formSession, "the steps, which may not repeat others in turn"},
	}},
}

// streamKeys are the keys that a phase and a stream have in common.
var streamKeys = []key{
	{
		"rate", formRate,
		"open loop: operations (or sessions) that begin in a time, whether or not those before are done; or a shape",
	},
	{"arrivals", formArrivals, "of an open loop: constant gaps (default), or a Poisson process"},
	{"clients", formWhole, "closed loop: so many clients, each of which waits for its answer before it goes on"},
	{"think", formTimes, "how long a client waits between operations; in a session, how long a user takes between steps"},
	{"mix", formMix, "operations and their weights; only ratios count"},
	{"session", formSession, "or the steps that one user takes in one folder"},
	{"keys", formKeys, "as above, for these operations"},
	{
		"timeout", formTime,
		"an operation that takes longer has an unknown outcome, and is given up if the engine's client can",
	},
}

// howKeys are the keys that an operation may have in a mix or a session. Each has a list of
// the operations that know it; nil: all.
var howKeys = []struct {
	key
	of []Op
}{
	{key{"keys", formKeys, "as above, for this operation"}, nil},
	{key{"timeout", formTime, "as above, for this operation"}, nil},
	{
		key{"page", formWhole, "how many entries one call asks for (default 25)"},
		[]Op{List, SearchSender, Slice, SearchAll, AllMail},
	},
	{key{"depth", formWhole, "which page of the folder, 1 is the newest (default 1, or as deep says): it begins behind " +
		"the last message of the page before; beyond the end it is empty"}, []Op{List}},
	{key{"messages", formSizes, "how many messages of the folder it is about (default 1): one call to move, delete or expunge, " +
		"a call each to flag; an expunge takes those whose UIDs follow each other"}, []Op{Flag, Move, Delete, Expunge}},
	{key{"recipients", formSizes, "mailboxes that it goes to (default: as mail says)"}, []Op{Deliver}},
	{key{"size", formSizes, "bytes of the whole message: text, and above 64KiB a file beside 8KiB of text (default: as mail says); " +
		"generated mail only"}, []Op{Deliver}},
	{key{"flags", formFlags, "which flags, each equally often: seen, answered, flagged, deleted, draft, user (default seen); " +
		"a model without one is not asked for it"}, []Op{Flag}},
	{
		key{"on", formShare, "share of the operations that set it; the others clear it (default 0.5)"},
		[]Op{Flag, Label, Subscribe},
	},
	{key{"width", formWidth, "what a slice asks for: a share of the messages (default 0.01), or a time, of the year in which " +
		"the load arrived"}, []Op{Slice}},
	{key{"from", formSize, "where in the message a range begins (default 0)"}, []Op{Range}},
	{key{"bytes", formSize, "how many bytes a range has (default 64KiB)"}, []Op{Range}},
	{key{"age", formTime, "purges only what was deleted longer ago (default: everything)"}, []Op{Purge}},
}

// expectSelects are the keys of expect whose bounds hold for one model, engine, phase or stream.
var expectSelects = []key{
	{"models", formExpect, "bounds for one model, in place of those for all: {james: {list.p99: <50ms}}"},
	{"engines", formExpect, "the same for one engine"},
	{"phases", formExpect, "the same for one measured phase"},
	{"streams", formExpect, "bounds for a stream's own figures: {inbound: {achieved: \">=99%\"}}"},
}

// stepKeys are the keys that a step of a session may have, besides howKeys.
var stepKeys = []key{
	{"times", formSizes, "how often it is done, one after another (default 1); a list goes to the next page each time"},
	{"chance", formShare, "share of the sessions in which it is done (default 1)"},
	{"think", formTimes, "how long the user takes before it (default: as the session says)"},
}

// keysIn returns the names of a section's keys.
func keysIn(name string) []string {
	i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	return names(sections[i].keys)
}

func names(keys []key) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.name
	}
	return all
}

// howOf returns the keys that a mix may have for an operation.
func howOf(op Op) []key {
	var keys []key
	for _, k := range howKeys {
		if k.of == nil || slices.Contains(k.of, op) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// ErrPopulation says that a workload's population is too large.
var ErrPopulation = errors.New("population is too large")

// Bounds of a population, so that it fits in memory and in 32-bit numbers: a run
// keeps some hundred bytes a folder, and up to 32 a message.
const (
	MaxUsers          = 10_000_000
	MaxFolders        = 1000
	MaxFolderMessages = 100_000_000
	maxAllFolders     = 20_000_000
	maxAllMessages    = 1_000_000_000
)

// CheckPopulation refuses a population with more folders or messages in all than it may have.
func CheckPopulation(folders, messages float64) error {
	switch {
	case folders > maxAllFolders:
		return fmt.Errorf("%w: %.0f folders or more in all (users × folders), at most %d", ErrPopulation,
			folders, maxAllFolders)
	case messages > maxAllMessages:
		return fmt.Errorf("%w: %.0f messages or more in all (users × folders × messages), at most %d",
			ErrPopulation, messages, maxAllMessages)
	}
	return nil
}

// PhaseMessages is where the message numbers of a phase begin: Number+1 times this. The
// load's are below, from 0. A phase has at most so many operations.
const PhaseMessages = 1 << 40

// LoadSpan is the time in which the mail of a load arrived.
const LoadSpan = 365 * 24 * time.Hour

// MaxRecipients bounds how many mailboxes one delivery can go to.
const MaxRecipients = 1000

// Paths are the keys that --set may change, except those of engines and models: KEY= for each key, and
// KEY=VALUE if the language lists the values. A key inside a list, such as that of one
// stream of several, has no path.
func (w *Workload) Paths() []string {
	var all []string
	for _, k := range sectionKeys("workload") {
		if k.form != formPhases {
			all = append(all, k.paths("")...)
			continue
		}
		for i := range w.Phases {
			p := &w.Phases[i]
			kind := p.Kind
			if kind == Warmup {
				kind = Measure // it has the same keys
			}
			for _, k := range sectionKeys(kind.String()) {
				all = append(all, k.paths("phases."+p.Name+".")...)
			}
		}
	}
	return all
}

func sectionKeys(name string) []key {
	i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	return sections[i].keys
}

// paths are the paths of the key and of all keys below it. Prefix is the path of its section.
func (k *key) paths(prefix string) []string {
	name := prefix + k.name
	var below []key
	var words []string
	switch k.form {
	case formVersion, formName, formEngines, formStreams, formSession, formPhases, formExpect, formSweep, formModels,
		formAnswer:
		return nil
	case formMail:
		below = sectionKeys("mail")
	case formAttachments:
		below = sectionKeys("attachments")
	case formPopulation:
		below = sectionKeys("population")
	case formKeys:
		below = sectionKeys("keys")
	case formReplay:
		below = sectionKeys("replay")
	case formTrials:
		below = sectionKeys("trials")
	case formMix:
		for _, op := range opNames {
			below = append(below, key{name: op, form: formWeight})
		}
	case formTruth:
		words = []string{"true", "false"}
	case formArrivals:
		words = []string{"constant", "poisson"}
	case formMissing:
		words = []string{"skip", "replace-rate"}
	case formChoice:
		words = []string{"uniform", "zipf", "latest", "largest"}
	}
	all := []string{name + "="}
	if len(below) > 0 {
		all = nil
	}
	for i := range below {
		all = append(all, below[i].paths(name+".")...)
	}
	for _, word := range words {
		all = append(all, name+"="+word)
	}
	return all
}
