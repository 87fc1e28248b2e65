package drivers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// Explainer is a statement that lists the requests that the driver sends to the engine,
// one a line.
type Explainer interface {
	Explain() ([]string, error)
}

// Planner is a statement whose engine reports how it runs the requests.
type Planner interface {
	// Plans returns a line for each request that the engine has planned.
	Plans() []string
}

// ExplainParts returns a line for a batch, and the indented lines of each of its parts. The line is that of an atomic
// batch, if the batch is one. If a part is repeated for an argument list, its first line names the list.
func ExplainParts[S Explainer](atomic string, p *schemas.Pattern, parts []S) ([]string, error) {
	head := "each part by itself:"
	if p.Atomic != schemas.AtomicNone {
		head = atomic
	}
	all := []string{head}
	for i, part := range parts {
		lines, err := part.Explain()
		if err != nil {
			return nil, err
		}
		if each := p.Parts[i].Each; each != "" {
			lines[0] += ", for each " + each
		}
		for _, l := range lines {
			all = append(all, "  "+l)
		}
	}
	return all, nil
}

// Compiler compiles the patterns of one schema as Prepare does, without an engine.
// Its statements are Explainers; no session runs them.
type Compiler func(p *schemas.Pattern) (Statement, error)

// Explanation lists the requests to an engine that run a pattern.
type Explanation struct {
	// Runs is the pattern that runs: the fallback if the engine cannot run the
	// declared one. It is nil if the engine can run neither.
	Runs    *schemas.Pattern
	Refused error // why the declared pattern does not run, or nil
	Calls   []string
}

// Explain compiles a pattern, or its fallback, and returns the requests to the engine.
func (compile Compiler) Explain(p *schemas.Pattern) (x Explanation, err error) {
	stmt, err := compile(p)
	if errors.Is(err, ErrUnsupported) {
		x.Refused = err
		if p.Fallback == nil {
			return x, nil
		}
		stmt, err = compile(p.Fallback)
		if errors.Is(err, ErrUnsupported) {
			return x, nil
		}
	}
	if err != nil {
		return x, err
	}
	x.Runs = stmt.Pattern()
	if e, ok := stmt.(Explainer); ok {
		x.Calls, err = e.Explain()
	}
	return x, err
}

// InWords says in words which rows a pattern reads or writes: by the key columns that the
// call gives, and in the order of the other key columns.
func InWords(p *schemas.Pattern) string {
	key, given := p.Table.Key(), p.By
	switch {
	case p.Static:
		key = given
	case p.In != nil:
		given = append(slices.Clone(given), p.In)
	case !p.Kind.Reads() && p.Kind != schemas.Delete:
		given = key
	}
	rest := slices.DeleteFunc(slices.Clone(key), func(c *schemas.Column) bool { return slices.Contains(given, c) })
	names := func(columns []*schemas.Column) string {
		var s []string
		for _, c := range columns {
			name := c.Name
			if c.Desc && slices.Contains(rest, c) {
				name += " (descending)"
			}
			s = append(s, name)
		}
		return strings.Join(s, ", ")
	}
	var words string
	switch {
	case len(rest) == 0 && p.Static:
		words = "the columns that all rows of this " + names(given) + " share"
	case len(rest) == 0:
		words = "the row of this " + names(given)
	case len(given) == 0:
		words = "all rows, by " + names(rest)
	default:
		words = "all rows of this " + names(given) + ", by " + names(rest)
	}
	if p.From != nil {
		words += "; not before " + p.From.Column.Name
	}
	if p.To != nil {
		words += "; not beyond " + p.To.Column.Name
	}
	if len(p.After) > 0 {
		words += "; the next page begins after the last " + names(p.After)
	}
	return words
}

// Example returns example arguments for a pattern, with which a driver shows its encoded
// keys: text "a", number 1, bytes 01, the UUID of version 1 whose time is 0. The
// arguments of after are null, so reads begin at the first row.
func Example(p *schemas.Pattern) []Value {
	layout, args := p.ArgLayout(), []Value(nil)
	for i, a := range p.Args() {
		if i >= layout.After && i < layout.After+len(p.After) {
			args = append(args, Value{})
			continue
		}
		args = append(args, example(a.Type))
	}
	return args
}

func example(t schemas.Type) Value {
	uuid := [16]byte{6: 0x10, 8: 0x80}
	switch t.Kind {
	case schemas.Text:
		return Text("a")
	case schemas.Blob:
		return Blob([]byte{1})
	case schemas.UUID, schemas.TimeUUID:
		return ID(t.Kind, uuid)
	case schemas.Set, schemas.List:
		return Value{kind: t.Kind, list: []Value{example(*t.Elem)}}
	case schemas.Map:
		return MapOf([]Value{example(*t.Key), example(*t.Elem)})
	}
	return Number(t.Kind, 1)
}

// Facts says what the drivers of some engines do with one schema, without an engine.
type Facts struct {
	engines   []Engine
	compilers map[string]Compiler
	sizes     map[string]*forecast.Engine
}

// FactsOf returns what the drivers of the engines do with a schema. Of an engine that cannot hold the
// schema there are none.
func FactsOf(engines []Engine, s *schemas.Schema) *Facts {
	f := &Facts{engines, make(map[string]Compiler), make(map[string]*forecast.Engine)}
	for _, e := range engines {
		if e.Compile != nil {
			if compile, err := e.Compile(s, Options{}); err == nil {
				f.compilers[e.Name] = compile
			}
		}
		if e.Forecast != nil {
			if sizes, err := e.Forecast(s); err == nil {
				f.sizes[e.Name] = sizes
			}
		}
	}
	return f
}

// Unable says why an engine cannot run a pattern as it is declared, or "".
func (f *Facts) Unable(engine string, p *schemas.Pattern) string {
	compile := f.compilers[engine]
	if compile == nil {
		return ""
	}
	_, err := compile(p)
	if !errors.Is(err, ErrUnsupported) {
		return ""
	}
	why := strings.TrimSuffix(err.Error(), ": "+ErrUnsupported.Error())
	return strings.TrimPrefix(why, "pattern "+p.Name+": ")
}

// CheckHints says what is wrong with a table's hints for an engine. Engines that are not known are refused when the
// schema is read.
func (f *Facts) CheckHints(engine string, t *schemas.Table) error {
	for _, e := range f.engines {
		switch {
		case e.Name != engine:
		case e.CheckHints != nil:
			return e.CheckHints(t)
		case len(t.Hints[engine]) > 0:
			return errors.New("the engine has no hints")
		}
	}
	return nil
}

// Forecast returns what rows of the schema take in the files of an engine, or nil if that is not known.
func (f *Facts) Forecast(engine string) *forecast.Engine { return f.sizes[engine] }

// Tracer is a store whose engine can report its work for a call. Every store of an
// engine that keeps data is one.
type Tracer interface {
	// Traced opens a session for whose calls the engine records its work. These calls take
	// longer. Calls of other sessions do not.
	Traced() (TracedSession, error)
}

// TracedSession is a session that returns the engine's work for its calls.
type TracedSession interface {
	Session
	// Begin begins a piece of work: the calls from here to the next Begin.
	Begin()
	// Work waits until the engine has reported its work. It returns that of each piece of
	// work since the last call of Work, in order, and forgets it.
	Work(ctx context.Context) ([]Work, error)
}

// Work is what an engine did for one piece of work. A negative number means that the
// engine does not report it.
type Work struct {
	// Requests counts those that the client sent, as Cost.Calls does.
	Requests int64 `json:"requests"`
	// Nodes counts those that read or wrote: replicas of Cassandra, each of which counts
	// its rows; regions of HBase.
	Nodes int64 `json:"nodes"`
	// Rows counts those that the engine read, returned or not. A row of HBase may hold many
	// of the schema's.
	Rows int64 `json:"rows_read"`
	// Tombstones counts those that the engine read.
	Tombstones int64 `json:"tombstones"`
	// Hidden counts entries that the engine passed and did not return: tombstones, entries
	// that they delete, older versions, and changes that it merges into one row.
	Hidden int64         `json:"hidden"`
	Cells  int64         `json:"cells"`       // cells that were returned
	Bytes  int64         `json:"bytes"`       // bytes of the cells that were returned: their keys and values
	Blocks int64         `json:"block_bytes"` // bytes of the blocks of files that were read, also from a cache
	Time   time.Duration `json:"server_nanoseconds"`
}

// Unreported is the work of an engine that reports nothing.
var Unreported = Work{-1, -1, -1, -1, -1, -1, -1, -1, -1}
