// Package workloads is the workload language: YAML that defines the dataset, the
// operation mix, and the load of each phase. It has the parsed types and the bundled
// workloads. Package workloads/plan turns them into operations, workloads/messages
// generates messages, workloads/random draws random values, and workloads/run runs a workload.
//
// "mailbench help workload" is the whole reference. It, the JSON Schema, completion, --set and the
// decoder walk the tags of the types that hold a workload ([Workload], [Phase], [How]), which
// describe each key.
//
// A phase with a rate is an open loop: operations are scheduled at constant gaps, or as a Poisson process,
// independent of the engine's answers. With a shape ([Shape]) they are scheduled where its integral reaches 0, 1,
// 2 …, or at the points of a Poisson process on that scale. A phase with clients is a closed loop. In an open loop
// the steps of a session ([Session]) are scheduled one think time apart, so that a slow store gets the same load,
// and the operations of session n are a function of (seed, n).
//
// Each trial of a run draws other operations and arrivals from the seed, the same
// for all models and engines; the mail that is loaded is the same.
package workloads

import (
	"embed"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// Workload is one workload file, checked and with its defaults filled in. Its types declare the
// language: see key.
type Workload struct {
	_       struct{}           `key:"version" form:"version" need:"\"version: 1\", the version of the language" doc:"version of the language: 1"`
	Name    string             `key:"name" form:"name" need:"the name of the workload" doc:"name of the workload, in results"`
	Doc     string             `key:"description" form:"text" doc:"one line for the list of workloads"`
	Seed    uint64             `key:"seed" form:"whole" least:"0" most:"18446744073709551615" doc:"seed of all random numbers (default 1)"`
	Engines map[string]*Engine `key:"engines" form:"engines" doc:"where engines are and how their clients are set; 'mailbench engine show NAME' lists the settings"`
	Mail    Mail               `key:"mail" form:"mail" doc:"generated messages"`
	// Patterns are those of the schema that the workload is for; without any, it is for mail.
	Patterns   Patterns                  `key:"patterns" form:"lines" doc:"names of access patterns of a schema: the operations in place of those of mail; 'mailbench run SCHEMA.yaml' fills them in"`
	Values     map[string]*Values        `key:"values" form:"values" doc:"values of a schema's columns, by table: {orders: {status: {distinct: 5}}}"`
	Population Population                `key:"population" form:"population" need:"{users: …, folders: …, messages: …}" doc:"who has how much mail before the first operation"`
	Keys       Keys                      `key:"access" form:"access" doc:"which users, folders and messages operations use"`
	Phases     []Phase                   `key:"phases" form:"phases" need:"a list such as [load: {}, settle: {}, measure: {…}]" doc:"the phases in order; the first phase is load"`
	Expect     []results.Objective       `key:"expect" form:"expect" doc:"thresholds of measured phases, such as {list.p99: <20ms, errors: <0.1%}"`
	Sweep      *Sweep                    `key:"sweep" form:"sweep" doc:"a key and its values, to measure how cost grows with it; see 'Sweeps' below"`
	Models     map[string]map[string]int `key:"models" form:"models" doc:"parameters of models, such as {james: {chunk_size: 64KiB}}; 'mailbench models NAME' lists those of a model"`
	Answer     Answer                    `key:"conclusion" form:"conclusion" doc:"sentences that the run completes; see 'Conclusions' below"`
	Trials     Trials                    `key:"trials" form:"trials" doc:"how many trials a run has, and whether they use one store"`
	// Source is the workload as YAML with all overrides applied. Digests of the workload
	// are made from it.
	Source []byte
	// NoFiles is the fault of a mix that needs attachments if generated mail has none; mail of a file may have some.
	NoFiles error
}

// Trials says how a run measures each model on each engine more than once. A Count of 0 is as many
// as a run has without it.
type Trials struct {
	Count int  `key:"count" form:"whole" least:"1" most:"trials" doc:"how many trials (default 1; of a sweep 2: up and down); --trials changes it for one run"`
	Reuse bool `key:"reuse" form:"truth" doc:"later trials use the store of the first, with all that earlier trials wrote, and run all phases but the load (default false: each trial loads a store of its own). Sweeps, segments and --find-max always load"`
}

// Answer is how a workload answers the question of its doc.
type Answer struct {
	Models []string `key:"models" form:"lines" doc:"models that run without --model (default all)"`
	Says   []string `key:"text" form:"lines" doc:"sentences with metrics in braces, whose values the reports insert"`
}

// Mail says what generated messages look like. Sizes are of decoded content.
type Mail struct {
	Body        random.Dist `key:"body" form:"sizes" least:"0" most:"message" doc:"bytes of text (default lognormal, median 6KB, p99 200KB)"`
	HTML        float64     `key:"html" form:"share" doc:"share of messages that carry the text as HTML, too (default 0)"`
	Attachments Attachments `key:"attachments" form:"attachments" doc:"which messages carry files"`
	Recipients  random.Dist `key:"recipients" form:"sizes" least:"1" most:"recipients" doc:"mailboxes that one delivery goes to (default 1)"`
}

// Attachments says which messages carry how many of which size.
type Attachments struct {
	Share float64     `key:"share" form:"share" need:"the share of messages that have any, such as 0.15" doc:"share of messages with files"`
	Count random.Dist `key:"count" form:"sizes" least:"1" most:"100" doc:"files of such a message (default 1)"`
	Size  random.Dist `key:"size" form:"sizes" least:"0" most:"message" doc:"decoded bytes of a file"`
}

// Population says who has how much mail before the first operation.
type Population struct {
	Users    int         `key:"users" form:"whole" least:"1" most:"users" need:"how many there are" doc:"how many users there are"`
	Folders  random.Dist `key:"folders" form:"sizes" least:"1" most:"folders" doc:"folders of a user, the inbox included (default 1)"`
	Messages random.Dist `key:"messages" form:"sizes" least:"0" most:"messages in a folder" need:"how many are in a folder, such as 200 or {lognormal: {median: 200, p99: 5000}}" doc:"messages in a folder"`
	Shared   bool        `key:"shared" form:"truth" doc:"all users have one folder in common; a delivery to several is one message there (default false)"`
	Rows     int64       `key:"rows" form:"whole" least:"1" most:"messages in a folder" need:"how many the largest table has, such as {rows: 10000}" patterns:"rows of the largest table"`
}

// Keys says which users, folders and messages operations use.
type Keys struct {
	Users    random.Keys `key:"users" form:"users" doc:"default zipf; largest: the user with most messages is the most popular"`
	Folders  random.Keys `key:"folders" form:"choice" doc:"of the user; 0 is the inbox (default latest)"`
	Messages random.Keys `key:"messages" form:"choice" doc:"of the folder; 0 is the newest (default latest)"`
	Deep     float64     `key:"deep_share" form:"share" doc:"share of lists that begin after a message chosen by messages, not at the newest (default 0)"`
}

// PhaseKind is what a phase does.
type PhaseKind uint8

// The kinds of phase.
const (
	Load    PhaseKind = iota // creates the population and its mail
	Settle                   // waits until the engine is quiet
	Warmup                   // runs operations until service times are steady
	Measure                  // runs operations and reports them
	Cold                     // reopens the store with empty caches
	// Interrupt interrupts a move and a delete after each of their writes, on a store of its own.
	Interrupt
)

var phaseNames = [...]string{"load", "settle", "warmup", "measure", "drop-caches", "interrupt"}

// String returns the kind's key in the language.
func (k PhaseKind) String() string { return phaseNames[k] }

// Arrivals is what makes operations due.
type Arrivals uint8

// Arrivals. Constant and Poisson are open loops: operations are scheduled whether or
// not those before them are done.
const (
	Constant Arrivals = iota
	Poisson
	Closed // each client begins the next operation when its last is done
)

var arrivalNames = [...]string{"constant", "poisson", "closed"}

// String returns the word for it in workloads and results.
func (a Arrivals) String() string { return arrivalNames[a] }

// Phase is one step of a workload, or a stream of one. Rate, Clients and what follows belong to
// warmup and measure; a warmup that leaves them out takes those of the measure
// phase it prepares.
type Phase struct {
	Kind PhaseKind
	// Name is the kind if the file gives no name; no two phases that are measure or interrupt have the same. A
	// stream's name is its number, from 1, if the file gives none; no two streams of a phase
	// have the same. A phase with a session has one stream, without a name.
	Name string `key:"name" form:"name" interrupt:"name of the phase in results (default interrupt)" measure:"name of the phase in results (default measure)" stream:"its name in results and in expect (default its number, from 1)"`
	// Number is the phase's place in the workload, from 0, and in later trials that place
	// behind those of the trials before. Operations and messages are drawn from it and the
	// seed; no two phases of a run have the same.
	Number int
	// Messages is how many messages the operations of an Interrupt are about: about as many accounts as
	// each of its operations has writes get them.
	Messages int `key:"messages" form:"whole" least:"1" most:"100" interrupt:"how many messages each is about (default 5)"`
	// One of Duration and Operations bounds the phase; the other is 0. A warmup
	// with a duration ends as soon as service times are steady; one of so many
	// operations runs them all.
	Duration   time.Duration `key:"duration" form:"time" measure:"how long the phase is"`
	Operations uint64        `key:"operations" form:"whole" least:"1" most:"operations" not:"duration" measure:"or how many operations it has"`
	// Streams run at once. Each is a phase with a pace and a mix or session of its own.
	// None: the phase itself is the only stream. A phase that has streams sums them up in
	// Rate, Clients and Mix.
	Streams []Phase `key:"streams" form:"streams" not:"replay" measure:"several concurrent streams, each with a pace and a mix or session of its own"`
	Stream  int     // the place of a stream among those of its phase, from 0
	Replay  *Replay `key:"replay" form:"replay" measure:"operations from a file, in place of rate and mix"`
	Workers int     `key:"concurrency" form:"whole" least:"1" most:"clients" not:"clients" measure:"how many operations of an open loop may be under way at a time (default: 32 with an engine in this process, 512 over a network)"`

	// Rate is that of all operations together, or of sessions; if it has a shape, the mean; zero in a
	// closed loop. Shape is how it changes; nil: it is constant.
	Rate  Rate `key:"rate" form:"rate" not:"replay streams" pace:"open loop: operations (or sessions) that begin in a time, whether or not those before are done; or a shape"`
	Shape Shape
	// RemoteRate is the rate instead if an engine of the run is reached over a network; zero: Rate. See UseRemoteRates.
	RemoteRate Rate     `key:"remote_rate" form:"plain rate" not:"replay streams" measure:"rate if an engine of the run is reached over a network (default rate)"`
	Arrivals   Arrivals `key:"arrivals" form:"arrivals" not:"clients replay streams" pace:"of an open loop: constant gaps (default), or a Poisson process"`
	// Clients is how many operations may be under way: in a closed loop how
	// many there always are; in a load how many loaders there are (0: the
	// runner's choice). An open loop has none.
	Clients int `key:"clients" form:"whole" least:"1" most:"clients" not:"rate replay streams" load:"how many loaders there are (default --concurrency)" pace:"closed loop: so many clients, each of which waits for its answer before it goes on"`
	// Think draws nanoseconds; nil: none.
	Think    random.Dist `key:"think_time" form:"times" not:"replay streams" pace:"think time between operations; in a session, between steps"`
	Mix      Mix         `key:"mix" form:"mix" not:"replay streams" pace:"operations and their weights; only ratios count"`
	How      [MaxOps]How // how operations of the mix are executed
	Patterns Patterns    // of the workload
	// Session is what one user does, in place of a mix; nil: there is a mix.
	Session *Session      `key:"session" form:"session" not:"mix replay streams" pace:"or the steps of one user in one folder"`
	Keys    *Keys         `key:"access" form:"access" pace:"as above, for these operations"` // nil: the workload's
	Timeout time.Duration `key:"timeout" form:"time" pace:"an operation that takes longer has an unknown outcome, and is canceled if the engine's client supports it"`
}

// Replay is a file of operations.
type Replay struct {
	Trace string  `key:"trace" form:"text" need:"the file" doc:"the file"`
	Speed float64 `key:"speed" form:"weight" least:"0.001" most:"1000000" doc:"how many times as fast as recorded (default 1)"`
	// Source is the file as it was read: a Recorded of package plan. Whoever runs the workload
	// sets it.
	Source any
}

// How says how define an operation. Zero values are the defaults. The tag of names the
// operations that know a key.
type How struct {
	Weight     float64       `key:"weight" form:"weight" most:"weight" need:"a number such as 50" mix:"how often, relative to the others"`
	Keys       *Keys         `key:"access" form:"access" doc:"as above, for this operation"`
	Timeout    time.Duration `key:"timeout" form:"time" doc:"as above, for this operation"`
	Page       int           `key:"page" form:"whole" least:"1" most:"10000" of:"list search-sender slice search-all all-mail pattern" doc:"how many entries one call reads (default 25): of a pattern its limit"`
	Depth      int           `key:"page_number" form:"whole" least:"1" most:"1000000" of:"list" doc:"page of the folder, 1 is the newest (default 1, or by deep_share): it begins after the last message of the previous page; beyond the end it is empty"`
	Messages   random.Dist   `key:"messages" form:"sizes" least:"1" most:"messages" of:"flag move delete expunge" doc:"number of messages of the folder (default 1): one call to move, delete or expunge, a call each to flag; an expunge takes those whose UIDs follow each other"`
	Recipients random.Dist   `key:"recipients" form:"sizes" least:"1" most:"recipients" of:"deliver" doc:"number of recipients (default: that of mail)"`
	Size       random.Dist   `key:"size" form:"sizes" least:"1" most:"message" of:"deliver" doc:"bytes of the whole message: text, and above 64KiB a file and 8KiB of text (default: that of mail); generated mail only"`
	Flags      []Mark        `key:"flags" form:"flags" of:"flag" doc:"which flags, each equally often: seen, answered, flagged, deleted, draft, user (default seen); a model without one does not get it"`
	On         *float64      `key:"set_share" form:"share" of:"flag label subscribe" doc:"share of operations that set the flag; the others clear it (default 0.5)"`
	Width      float64       `key:"range" form:"share" least:"0.000001" of:"slice" doc:"the size of a slice: a share of the messages (default 0.01)"`
	From       int64         `key:"from" form:"size" least:"0" most:"message" of:"range" doc:"where in the message a range begins (default 0)"`
	Bytes      int64         `key:"bytes" form:"size" least:"1" most:"message" of:"range" doc:"how many bytes a range has (default 64KiB)"`
	Items      random.Dist   `key:"items" form:"sizes" least:"1" most:"messages" of:"pattern" doc:"how many keys a list of a pattern has (in), and how many rows a repeated part of a batch (each; default 10)"`
	Age        time.Duration `key:"age" form:"time" of:"purge" doc:"purges only messages deleted longer ago (default: everything)"`
}

// DefaultRange is how many bytes of a message a range has: what an IMAP client fetches at once. DefaultPage is how many
// entries a page has: what the documents show at once.
const DefaultRange, DefaultPage = 64 << 10, 25

// Mark is a message flag.
type Mark uint8

// The flags.
const (
	FlagSeen Mark = iota
	FlagAnswered
	FlagFlagged
	FlagDeleted
	FlagDraft
	FlagUser     // one that users name
	NumMarks int = iota
)

var flagNames = []string{"seen", "answered", "flagged", "deleted", "draft", "user"}

// OfTrial is a phase of the workload as a trial executes it, from 1: its operations, arrivals and
// messages are others than those of all other trials, and the same for all models and engines.
func (w *Workload) OfTrial(p Phase, trial int) Phase {
	p.Number += (trial - 1) * len(w.Phases)
	return p
}

// Runs reports whether the phase runs operations of a mix.
func (p *Phase) Runs() bool { return p.Kind == Warmup || p.Kind == Measure }

// SomeHow reports whether what a phase, one of its streams or a step of a session says of the
// operation meets a condition.
func SomeHow(phases []Phase, op Op, meets func(*How) bool) bool {
	return slices.ContainsFunc(phases, func(p Phase) bool {
		return meets(&p.How[op]) || SomeHow(p.Streams, op, meets) ||
			p.Session != nil && slices.ContainsFunc(p.Session.Steps, func(s Step) bool { return s.Op == op && meets(&s.How) })
	})
}

//go:embed *.yaml
var bundled embed.FS

// BundledNames returns the names of the workloads embedded in mailbench, in alphabetical order.
func BundledNames() (names []string) {
	entries, _ := bundled.ReadDir(".") // the embedded root is always there
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Text returns the text of the embedded workload of that name, and its file's name.
func Text(name string) (file string, text []byte, err error) {
	text, err = bundled.ReadFile(name + ".yaml")
	if err != nil {
		return "", nil, strict.Unknown("workload", name, append(BundledNames(), "or a file NAME.yaml")...)
	}
	return path.Join("workloads", name+".yaml"), text, nil
}

// Bundled returns the embedded workload of that name, with overrides as for [Parse].
func Bundled(name string, overrides ...string) (*Workload, error) {
	file, text, err := Text(name)
	if err != nil {
		return nil, err
	}
	return Parse(file, text, overrides...)
}
