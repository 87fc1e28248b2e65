package lint

import (
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity uint8

// Severities, in ascending order.
const (
	// Note: a fact to know. The design may be right as it is.
	Note Severity = iota
	// Warning: a design that the engine's documentation advises against.
	Warning
	// Error: the engine refuses it, or its cost grows with all data of the store.
	Error
)

var severityNames = [...]string{"note", "warning", "error"}

// String returns the severity in one word.
func (s Severity) String() string { return severityNames[s] }

// Rule is one thing that lint looks for.
type Rule struct {
	ID       string
	Severity Severity
	// Engines are the engines that the rule is about. If there are none, it judges the
	// schema by itself.
	Engines []string
	// Numbers: the rule needs a workload.
	Numbers bool
	Doc     string // what is found, and why it matters
	Source  string // source of the fact or the figure
	Do      string // how to mend it

	check func(*checker)
}

// Rules returns all rules, by theme.
func Rules() []*Rule {
	all := slices.Concat(
		partitionRules(), orderRules(), boundRules(), cellRules(), columnRules(), indexRules(),
		writeRules(), tombstoneRules(), hotRules(), fallbackRules(), hintRules(), outsideRules(), sizeRules(), acceptRules(),
	)
	for _, r := range all {
		for _, text := range []*string{&r.Doc, &r.Source, &r.Do} {
			*text = strings.Join(strings.Fields(*text), " ") // written over several lines
		}
	}
	return all
}

const (
	cassandra = "cassandra"
	hbase     = "hbase"
	oracle    = "oraclenosql"
	embedded  = "embedded"
	judgement = "mailbench's own judgement"
)

// EngineNames returns the engines that schemas can be checked for. The list does not
// follow from the drivers: the engine null is not on it.
func EngineNames() []string { return []string{embedded, cassandra, hbase, oracle} }
