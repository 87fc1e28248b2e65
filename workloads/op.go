package workloads

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// Op is an operation that a mix can name: one of mail, or, from NumOps on, an access pattern of a schema.
type Op uint8

// The operations.
const (
	Deliver Op = iota
	List
	Open
	Raw
	Attachment
	Flag
	Label
	Move
	Delete
	Restore
	Purge
	Folders
	Counters
	Recount
	SearchSender
	Slice
	Seen
	Subscribe
	Login
	Range
	Expunge
	Subscriptions
	SeenBy
	SearchAll
	AllMail
	Totals
	CreateUser
	Join
	Leave
	Nested
	NumOps int = iota
)

// opNames has, after the operations of mail, the name that all access patterns have in the language.
var opNames = [NumOps + 1]string{
	"deliver", "list", "open", "raw", "attachment", "flag", "label", "move",
	"delete", "restore", "purge", "folders", "counters", "recount",
	"search-sender", "slice", "seen", "subscribe", "login",
	"range", "expunge", "subscriptions", "seen-by", "search-all", "all-mail", "totals", "create-user",
	"join", "leave", "nested", "pattern",
}

// MaxOps is how many operations there can be: those of mail, and the patterns that a workload names.
const MaxOps = 256

// String returns the name of a mail operation in workloads and results. Patterns.Name has those of patterns.
func (o Op) String() string { return opNames[min(int(o), NumOps)] }

// Patterns are the names of the access patterns of a schema that are the operations of a workload, in place of those
// of mail. Pattern i is the operation NumOps+i. Without any, the operations are those of mail.
type Patterns []string

// Ops is above the number of each operation.
func (p Patterns) Ops() int { return NumOps + len(p) }

// Name is the name of an operation, also of one of mail, in workloads and results.
func (p Patterns) Name(op Op) string {
	if int(op) < NumOps {
		return op.String()
	}
	return p[int(op)-NumOps]
}

// Names are the names of all operations that a mix can have.
func (p Patterns) Names() []string {
	if len(p) == 0 {
		return OpNames()
	}
	return p
}

// Op returns the operation of that name.
func (p Patterns) Op(name string) (Op, bool) {
	i := slices.Index(p.Names(), name)
	return Op(p.Ops() - len(p.Names()) + max(0, i)), i >= 0 // they are the last of all operations
}

const changing = 1<<Deliver | 1<<Flag | 1<<Label | 1<<Move | 1<<Delete | 1<<Restore | 1<<Purge | 1<<Recount |
	1<<Subscribe | 1<<Expunge | 1<<CreateUser | 1<<Join | 1<<Leave

// Changes reports whether the operation changes what is stored.
func (o Op) Changes() bool { return int(o) < NumOps && changing>>o&1 == 1 }

const ofAccount = 1<<Folders | 1<<Login | 1<<Purge | 1<<Recount | 1<<Subscriptions | 1<<AllMail | 1<<Totals |
	1<<CreateUser | 1<<Nested

// OfAccount reports whether the operation works on an account as a whole, and not on one folder or its messages.
func (o Op) OfAccount() bool { return int(o) < NumOps && ofAccount>>o&1 == 1 }

// OpNames returns the names of the operations of mail.
func OpNames() []string { return opNames[:NumOps:NumOps] }

// Mix is the weight of each operation; only their ratios count. A weight is
// from 0 to 1,000,000, and at least one is above 0.
type Mix [MaxOps]float64

// Has reports whether the mix names the operation.
func (m *Mix) Has(op Op) bool { return m[op] > 0 }

// Share returns the operation's part of all operations.
func (m *Mix) Share(op Op) float64 { return m[op] / m.sum() }

// sum is the weight of all operations together.
func (m *Mix) sum() (sum float64) {
	for _, w := range m {
		sum += w
	}
	return sum
}

// Session is what one user does in one folder: steps, each some time after the one
// before. The random parts of session n are drawn from (seed, n) alone.
//
// In an open loop sessions begin at the phase's rate, and each step is scheduled at a time of
// its own, whether or not the step before is done. So a slow engine gets no fewer requests.
type Session struct {
	Steps []Step
}

// Step is one instruction of a session. Without Times it is done once.
type Step struct {
	Op          Op
	Times       random.Dist `key:"times" form:"sizes" least:"1" most:"1000" step:"how often it is done, one after another (default 1); a list goes to the next page each time"`
	Probability float64     `key:"probability" form:"share" least:"0.000001" step:"share of the sessions in which it is done (default 1)"`
	Think       random.Dist `key:"think_time" form:"times" step:"think time before it (default: that of the session)"`
	// Until is the index of the step that ends a repetition, in the step that begins it.
	Until int
	// Back is the index of the step that begins a repetition, in the step that ends it.
	Back int
	Kind StepKind
	How
}

// repetition is a step that repeats others, as it is written.
type repetition struct {
	Times       random.Dist `key:"times" form:"sizes" least:"1" most:"1000" need:"how often, such as 3" doc:"how often"`
	Probability float64     `key:"probability" form:"share" least:"0.000001" doc:"share of the sessions in which it happens (default 1)"`
	_           struct{}    `key:"steps" form:"session" need:"a list such as [open, flag]" doc:"the steps, which may not repeat others in turn"`
}

// StepKind says what a step is.
type StepKind uint8

// Kinds of steps: an operation, and the begin and the end of a repetition.
const (
	StepOp StepKind = iota
	StepRepeat
	StepEnd
)

// mean is how often a step is done on average.
func (s *Step) mean() float64 {
	if s.Times == nil {
		return s.Probability
	}
	return s.Probability * min(max(1, s.Times.Mean()), MostSteps)
}

// mix reads operations with their weights, and how they are executed.
func (d *decoder) mix(p *Phase, n *yaml.Node, where string) {
	faults := len(d.Errs)
	for name, e := range d.Fields(n, "mix of "+where, d.w.Patterns.Names()) {
		op, _ := d.w.Patterns.Op(name)
		body := e.Value
		if body.Kind != yaml.MappingNode { // list: 50 is list: {weight: 50}
			weight := *e.Key
			weight.Value = "weight"
			body = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&weight, e.Value}}
		}
		d.section(body, name+" in mix of "+where, &p.How[op], language["mix"].forOp(op))
		p.Mix[op] = p.How[op].Weight
	}
	d.Check(p.Mix != (Mix{}) || len(d.Errs) > faults, n,
		"mix of %s is all zero; at least one operation needs a weight, as in {%s: 50}", where, d.w.Patterns.Names()[0])
}

// steps reads a list of steps: operations, and the words that may be there in place of one.
func (d *decoder) steps(s *Session, n *yaml.Node, where string, others ...string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.Fail(n, "%s must be a list of steps, such as [list, {open: {times: 3}}], found %s", where, strict.Found(n))
		return
	}
	for _, item := range n.Content {
		at, fields := strict.Word(item)
		if at == nil {
			d.Fail(item, "a step of %s must be an operation, as in open or {open: {times: 3}}, found %s", where, strict.Found(item))
			continue
		}
		op, known := d.w.Patterns.Op(at.Value)
		switch {
		case slices.Contains(others, at.Value):
			r, where := repetition{Probability: 1}, "repeat in "+where
			f := d.section(fields, where, &r, language["repeat"])
			if r.Times == nil || f["steps"].Value == nil {
				continue
			}
			first := len(s.Steps)
			s.Steps = append(s.Steps, Step{Kind: StepRepeat, Times: r.Times, Probability: r.Probability})
			d.steps(s, f["steps"].Value, "steps of "+where)
			s.Steps[first].Until = len(s.Steps)
			s.Steps = append(s.Steps, Step{Kind: StepEnd, Back: first, Probability: 1})
		case !known:
			d.Unknown(at, "operation", at.Value, "in "+where, slices.Concat(d.w.Patterns.Names(), others))
		default:
			step, where := Step{Op: op, Probability: 1}, at.Value+" in "+where
			f := d.section(fields, where, &step, language["step"].forOp(op))
			for _, key := range strict.KeysOf(f["access"].Value) {
				d.Check(key != "users" && key != "folders", f["access"].Value,
					"%s: all steps of a session are of one user and one folder; give %s to the access of the phase or stream", where, key)
			}
			s.Steps = append(s.Steps, step)
		}
	}
}

// Values are what a column holds.
type Values struct {
	Pos      strict.Pos
	Size     random.Dist `key:"size" form:"sizes" least:"0" most:"message" doc:"bytes of a text or blob, elements of a collection (default 20 bytes, 3 elements)"`
	Distinct uint64      `key:"distinct" form:"whole" least:"1" most:"users" doc:"how many different values there are (default: as the keys of the schema need; 10 of a filter, or of a part of a key)"`
	Access   random.Keys `key:"access" form:"choice" doc:"how often rows have each value, and patterns use each value of a partition key (default: evenly): uniform, zipf or latest"`
}

// values reads the values of columns, by table.
func (d *decoder) values(_ *key, n *yaml.Node, _ string) any {
	all := map[string]*Values{}
	for _, t := range d.Mapping(n, "values") {
		for _, c := range d.Mapping(t.Value, "values."+t.Name) {
			name := t.Name + "." + c.Name
			all[name] = &Values{Pos: d.At(c.Key)}
			if !d.Check(c.Value.Kind == yaml.MappingNode, c.Value, "values.%s must be a mapping such as {distinct: 5}, found %s",
				name, strict.Found(c.Value)) {
				continue
			}
			d.section(c.Value, "values."+name, all[name], language["values"])
		}
	}
	return all
}
