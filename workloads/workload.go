package workloads

import (
	"time"

	"github.com/mailbench/mailbench/workloads/random"
)

// Workload is one workload file, checked and with its defaults filled in.
type Workload struct {
	Name       string
	Doc        string
	Seed       uint64             // of everything that is drawn; 1 if the file names none
	Engines    map[string]*Engine // by name; only those with a config
	Mail       Mail
	Population Population
	Keys       Keys
	Phases     []Phase
	Expect     []Expectation // of measured phases
	// Source is the workload as YAML with all overrides applied: what a digest
	// of it is made from.
	Source []byte
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
	Share float64 // of messages that have any
	Count random.Dist
	Size  random.Dist
}

// Population says who has how much mail before the first operation.
type Population struct {
	Users    int
	Folders  random.Dist // of each user, the inbox included; at least 1
	Messages random.Dist // in each folder
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
	Warmup                   // runs operations until window medians agree; no figures
	Measure                  // runs operations and reports them
	Cold                     // reopens the store without what any cache holds
)

var phaseNames = [...]string{"load", "settle", "warmup", "measure", "cold"}

// String returns the kind's key in the language.
func (k PhaseKind) String() string { return phaseNames[k] }

// Arrivals is how operations come to be due.
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

// Missing is what becomes of operations that a model lacks.
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
	Name string // the kind where the file gives none; of measure phases no two have the same
	// Number is the phase's place in the workload, from 0. Operations and messages
	// are drawn from it and the seed; no two phases of a run have the same.
	Number int

	// Trial is which trial of the run the phase belongs to, from 0. Trials draw other
	// operations and arrivals, the same for all models and engines.
	Trial int
	// Missing says what becomes of operations that a model lacks. Lacks are those that
	// are drawn again, among the others; whoever knows the model sets them.
	Missing Missing
	Lacks   [NumOps]bool

	Arrivals Arrivals
	Rate     Rate // of all operations together; zero in a closed loop
	// Clients is how many operations may be under way: in a closed loop how
	// many there always are; in a load how many loaders there are (0: the
	// runner's choice). An open loop has none.
	Clients int
	// One of Duration and Operations bounds the phase; the other is 0. A warmup
	// with a duration ends as soon as service times are steady; one of so many
	// operations runs them all.
	Duration   time.Duration
	Operations uint64
	Mix        Mix
}

// seed is what the phase draws from in its trial.
func (p *Phase) seed(seed uint64) uint64 { return random.Derive(seed, uint64(p.Trial)) }

// Without returns the phase as a model carries it out that lacks operations. If they
// are to be replaced, they are drawn again among those that it has.
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

// Runs reports whether the phase runs operations of a mix.
func (p *Phase) Runs() bool { return p.Kind == Warmup || p.Kind == Measure }
