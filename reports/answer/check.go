package answer

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/strict"
)

// Scope is what the sentences of a workload may name.
type Scope struct {
	Models []string
	Phases []Phase  // that measure, or break operations off
	Points []string // values of the sweep; none: there is no sweep
}

// Phase is a measured phase and the operations of its mix, or a phase that breaks operations off.
type Phase struct {
	Name       string
	Ops        []string
	Interrupts bool
}

// Check returns the first name of the sentence that is not in the scope.
func (s *Sentence) Check(of Scope) error {
	named := 0
	all := s.figures()
	for _, f := range all {
		if err := of.figure(f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		if f.model != "" {
			named++
		}
	}
	if named > 0 && named < len(all) {
		return fmt.Errorf("some figures name a model and some do not: %s", all)
	}
	for _, p := range s.parts {
		if p.kind >= from && len(of.Points) == 0 {
			return fmt.Errorf("{%s}: the workload has no sweep", p.name())
		}
		if p.kind == value && len(of.Points) > 0 && p.a.point == "" ||
			p.kind == ratio && len(of.Points) > 0 && (p.a.point == "" || p.b.point == "") {
			return fmt.Errorf("{%s}: expected at and one of the sweep's values behind each figure, or at %s", p.name(), last)
		}
	}
	return nil
}

// name is the part as it was written.
func (p *part) name() string {
	switch p.kind {
	case smallest:
		return first
	case largest:
		return last
	}
	return p.text
}

func (of *Scope) figure(f figure) error {
	if f.model != "" && !slices.Contains(of.Models, f.model) {
		return strict.Unknown("model", f.model, append(slices.Clone(of.Models), "or another that answer.models names")...)
	}
	if f.point != "" && f.point != first && f.point != last && !slices.Contains(of.Points, f.point) {
		return fmt.Errorf("%s is no value of the sweep", f.point)
	}
	if f.point != "" && len(of.Points) == 0 {
		return fmt.Errorf("the workload has no sweep")
	}
	if f.op == results.PartitionOp {
		if f.phase != "" || len(of.Points) == 0 {
			return fmt.Errorf("the forecast of the largest partition belongs to a sweep, and to no phase")
		}
		return nil
	}
	var names []string
	var found int
	for _, p := range of.Phases {
		if p.Interrupts != (f.name == interrupted) {
			continue
		}
		names = append(names, p.Name)
		if (f.op == rowCache || slices.Contains(p.Ops, f.op)) && (f.phase == "" || f.phase == p.Name) {
			found++
		}
	}
	switch {
	case f.phase != "" && !slices.Contains(names, f.phase):
		return strict.Unknown("phase", f.phase, names...)
	case found == 0 && f.phase != "":
		return fmt.Errorf("%s has no %s in its mix", f.phase, f.op)
	case found == 0:
		return fmt.Errorf("no measured phase has %s in its mix", f.op)
	case found > 1:
		return fmt.Errorf("%d phases have %s in their mix; expected in and the name of one", found, f.op)
	}
	return nil
}
