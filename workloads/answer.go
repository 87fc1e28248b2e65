package workloads

import (
	"strings"

	"github.com/mailbench/mailbench/reports/answer"
	"github.com/mailbench/mailbench/schemas/strict"
)

// answer reads the sentences with which the workload answers its question, and checks what they name.
func (d *decoder) answer(fields map[string]strict.Entry) {
	e, ok := fields["answer"]
	if !ok || len(d.Errs) > 0 {
		return
	}
	f := d.Fields(e.Value, "answer", keysIn("answer"))
	a := Answer{Models: d.answerModels(f)}
	scope := d.scope(a.Models)
	if says, ok := f["says"]; ok {
		for _, n := range d.List(says.Value, "answer.says") {
			text, ok := d.Text(n, "a sentence of answer.says")
			if !ok {
				continue
			}
			s, err := answer.Parse(text)
			if err == nil {
				err = s.Check(scope)
			}
			if err != nil {
				d.Fail(n, "answer.says: %s (--set answer={} leaves the answer out)", err)
			}
			a.Says = append(a.Says, text)
		}
	}
	d.w.Answer = a
}

// answerModels reads the names of models. A workload names no files, since it may be a stranger's.
func (d *decoder) answerModels(f map[string]strict.Entry) (all []string) {
	e, ok := f["models"]
	if !ok {
		return nil
	}
	for _, n := range d.List(e.Value, "answer.models") {
		name, ok := d.Text(n, "a model of answer.models")
		if ok && strings.ContainsAny(name, `./\`) {
			d.Fail(n, "answer.models names models and variants, found the file %q; name files with -m", name)
		} else if ok {
			all = append(all, name)
		}
	}
	return all
}

// scope is what the sentences may name.
func (d *decoder) scope(models []string) answer.Scope {
	s := answer.Scope{Models: models}
	for i := range d.w.Phases {
		p := &d.w.Phases[i]
		if p.Kind == Interrupt {
			ops := []string{Move.String(), Delete.String()}
			s.Phases = append(s.Phases, answer.Phase{Name: p.Name, Ops: ops, Interrupts: true})
		}
		if p.Kind != Measure {
			continue
		}
		one, mix := answer.Phase{Name: p.Name}, p.Asks()
		for op := range Op(NumOps) {
			if mix.Has(op) {
				one.Ops = append(one.Ops, op.String())
			}
		}
		s.Phases = append(s.Phases, one)
	}
	if d.w.Sweep != nil {
		for _, p := range d.w.Sweep.Points {
			s.Points = append(s.Points, p.Value)
		}
	}
	return s
}
