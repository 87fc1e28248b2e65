package workloads

import (
	"embed"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// Workload is one workload file, checked and with its defaults filled in.
type Workload struct {
	Name       string
	Doc        string
	Seed       uint64             // seed of all random numbers; 1 if the file names none
	Engines    map[string]*Engine // by name; only engines with a section in the file
	Mail       Mail
	Population Population
	Keys       Keys
	Phases     []Phase
	Expect     []Expectation     // bounds for measured phases
	Models     map[string]*Model // parameters of models, by name; only those with a section in the file
	Sweep      *Sweep            // nil: there is none
	Answer     Answer
	Trials     Trials
	// Source is the workload as YAML with all overrides applied. Digests of the workload
	// are made from it.
	Source []byte
}

// Trials says how a run measures each model on each engine more than once.
type Trials struct {
	Count int  // how many trials a run has if nobody says; 0: as many as a run has without it
	Reuse bool // a trial goes on with the store of the one before, and loads none
}

// Answer is how a workload answers the question that its doc asks.
type Answer struct {
	Models []string // that run if nobody names any; none: all
	Says   []string // sentences with figures in braces (package answer)
}

// Mail says what generated messages look like. Sizes are of decoded content.
type Mail struct {
	Body        random.Dist // bytes of plain text
	HTML        float64     // share of messages that carry the text as HTML too
	Attachments Attachments
	Recipients  random.Dist // mailboxes that one delivery goes to
}

// Attachments says which messages carry how many of which size.
type Attachments struct {
	Share float64 // share of messages that have any
	Count random.Dist
	Size  random.Dist
}

// Population says who has how much mail before the first operation.
type Population struct {
	Users    int
	Folders  random.Dist // folders of each user, the inbox included; at least 1
	Messages random.Dist // messages in each folder
	// Shared: there is one folder, which belongs to all users.
	Shared bool
}

// Keys says which users, folders and messages operations ask for.
type Keys struct {
	Users    random.Keys
	Folders  random.Keys // 0 is the inbox: latest prefers it
	Messages random.Keys // 0 is the newest
	// Deep is the share of lists that go on behind a message chosen like any
	// other; the others show a folder's newest page.
	Deep float64
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
	// Interrupt breaks a move and a delete off after each of their writes, on a store of its own.
	Interrupt
)

var phaseNames = [...]string{"load", "settle", "warmup", "measure", "cold", "interrupt"}

// String returns the kind's key in the language.
func (k PhaseKind) String() string { return phaseNames[k] }

// Arrivals is what makes operations due.
type Arrivals uint8

// Arrivals. Constant and Poisson are open loops: operations are due whether or
// not those before them are done.
const (
	Constant Arrivals = iota
	Poisson
	Closed // each client begins the next operation when its last is done
)

var arrivalNames = [...]string{"constant", "poisson", "closed"}

// String returns the word for it in workloads and results.
func (a Arrivals) String() string { return arrivalNames[a] }

// Missing is what happens to operations that a model lacks.
type Missing uint8

// Skip leaves them out, so that the model's load is lighter. ReplaceRate draws another
// operation of the mix in place of each: the rate is that of the other models, and the
// mix is not.
const (
	Skip Missing = iota
	ReplaceRate
)

var missingNames = [...]string{"skip", "replace-rate"}

// String returns the word for it in workloads and results.
func (m Missing) String() string { return missingNames[m] }

// Phase is one step of a workload. Rate, Clients and what follows belong to
// warmup and measure; a warmup that leaves them out takes those of the measure
// phase it prepares.
type Phase struct {
	Kind PhaseKind
	// Name is the kind if the file gives no name; no two phases that are measure or interrupt have the same. A
	// stream's name is its number, from 1, if the file gives none; no two streams of a phase
	// have the same. A phase with a session has one stream, without a name.
	Name string
	// Messages is how many messages the operations of an Interrupt are about.
	Messages int
	// Number is the phase's place in the workload, from 0, and in later trials that place
	// behind those of the trials before. Operations and messages are drawn from it and the
	// seed; no two phases of a run have the same.
	Number int

	// Missing says what happens to operations that a model lacks. Lacks are the operations
	// to replace by others; Without sets them.
	Missing Missing
	Lacks   [NumOps]bool

	Arrivals Arrivals
	Rate     Rate  // of all operations together; if it has a shape, the mean; zero in a closed loop
	Shape    Shape // how the rate changes; nil: it is constant
	// Clients is how many operations may be under way: in a closed loop how
	// many there always are; in a load how many loaders there are (0: the
	// runner's choice). An open loop has none.
	Clients int
	// Workers is how many operations of an open loop may be under way; 0: the runner's
	// choice.
	Workers int
	// One of Duration and Operations bounds the phase; the other is 0. A warmup
	// with a duration ends as soon as service times are steady; one of so many
	// operations runs them all.
	Duration   time.Duration
	Operations uint64
	Mix        Mix
	How        [NumOps]How   // how operations of the mix are carried out
	Keys       *Keys         // nil: the workload's
	Think      random.Dist   // nanoseconds that a client waits between operations; nil: none
	Timeout    time.Duration // for each operation; 0: none

	// Session is what one user does, in place of a mix; nil: there is a mix. The rate is
	// that of sessions.
	Session *Session
	// Streams run at once. Each is a phase with a pace and a mix or session of its own.
	// None: the phase itself is the only stream. A phase that has streams sums them up in
	// Rate, Clients and Mix.
	Streams []Phase
	// Stream is the place of a stream among those of its phase, from 0.
	Stream int
	// Replay is the file that operations are read from, in place of a mix; nil: they are drawn.
	Replay *Replay
}

// Replay is a file of operations.
type Replay struct {
	Trace string  // name of the file
	Speed float64 // how many times as fast as it was recorded
	// Source is the file as it was read: a Recorded of package plan. Whoever runs the workload
	// sets it.
	Source any
}

// How says how an operation is carried out. The zero How has all defaults.
type How struct {
	Keys       *Keys         // nil: those of the phase
	Timeout    time.Duration // 0: that of the phase
	Page       int           // entries that one call asks for; 0: DefaultPage
	Depth      int           // page of a list, 1 is the newest; 0: the newest, or as Keys.Deep says
	Messages   random.Dist   // messages that a move, delete or flag is about; nil: 1
	Recipients random.Dist   // mailboxes that a delivery goes to; nil: as the workload says
	Size       random.Dist   // bytes of the message that is delivered; nil: as the workload says
	Flags      []Mark        // flags to set or clear; none: Seen
	On         *float64      // share of operations that set, not clear; nil: half
	Width      Width
	Age        time.Duration // purge: how long ago a message was deleted, at least
	From       int64         // range: where it begins
	Bytes      int64         // range: how long it is; 0: DefaultRange
}

// DefaultRange is how many bytes of a message a range has: what an IMAP client fetches at once.
const DefaultRange = 64 << 10

// DefaultPage is how many entries a page has: what the documents show at once.
const DefaultPage = 25

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

// String returns the flag's name in the language.
func (f Mark) String() string { return flagNames[f] }

// Width is how much time a slice spans: a time, or a share of the time since the first
// message. Both 0: a hundredth.
type Width struct {
	Time  time.Duration
	Share float64
}

// Without returns the phase for a model that lacks operations. With ReplaceRate, it sets Lacks,
// unless the model lacks all operations of the mix.
func (p Phase) Without(lacks [NumOps]bool) Phase {
	if p.Missing != ReplaceRate {
		return p
	}
	for op := range lacks {
		if p.Mix.Has(Op(op)) && !lacks[op] {
			p.Lacks = lacks
		}
	}
	return p
}

// OfTrial is a phase of the workload as a trial carries it out, from 1: its operations, arrivals and
// messages are others than those of all other trials, and the same for all models and engines.
func (w *Workload) OfTrial(p Phase, trial int) Phase {
	p.Number += (trial - 1) * len(w.Phases)
	return p
}

// Runs reports whether the phase runs operations of a mix.
func (p *Phase) Runs() bool { return p.Kind == Warmup || p.Kind == Measure }

// Sets reports whether the workload names the flag for an operation. FlagSeen, which is the
// default, need not be named.
func (w *Workload) Sets(m Mark) bool {
	return someHow(w.Phases, Flag, func(h *How) bool { return slices.Contains(h.Flags, m) })
}

// Sizes reports whether the workload says how large the messages of some deliveries are. Those of
// a file are as large as they are.
func (w *Workload) Sizes() bool {
	return someHow(w.Phases, Deliver, func(h *How) bool { return h.Size != nil })
}

// someHow reports whether what a phase, one of its streams or a step of a session says of the
// operation meets a condition.
func someHow(phases []Phase, op Op, meets func(*How) bool) bool {
	return slices.ContainsFunc(phases, func(p Phase) bool {
		return meets(&p.How[op]) || someHow(p.Streams, op, meets) ||
			p.Session != nil && slices.ContainsFunc(p.Session.Steps, func(s Step) bool { return s.Op == op && meets(&s.How) })
	})
}

//go:embed *.yaml
var bundled embed.FS

// BundledNames returns the names of the workloads embedded in mailbench, in alphabetical order.
func BundledNames() []string {
	entries, err := bundled.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root is always there
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// Bundled returns the embedded workload of that name, with overrides as for [Parse].
func Bundled(name string, overrides ...string) (*Workload, error) {
	file := name + ".yaml"
	src, err := bundled.ReadFile(file)
	if err != nil {
		return nil, strict.Unknown("workload", name, append(BundledNames(), "or a file NAME.yaml")...)
	}
	return Parse(path.Join("workloads", file), src, overrides...)
}
