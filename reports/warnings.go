package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
)

// warningsShown is how many warnings the first screen has. The others are in the full text, and
// folded on the page.
const warningsShown = 3

// warnings are those that change how the latencies are read.
func (v *run) warnings() document.Section {
	s := document.Section{ID: "warnings"}
	all, further := v.allWarnings()
	for i, text := range all[:min(len(all), warningsShown)] {
		lead := ""
		if i == 0 {
			lead = "Warning"
			if len(all) > 1 {
				lead = "Warnings"
			}
		}
		s.Note(document.Warn, lead, text)
	}
	if more := len(all) - warningsShown + len(further); len(all) > warningsShown {
		s.Note(document.Faint, "", words.Plural(more, "more warning")+": --full")
	}
	return s
}

// furtherWarnings are the others.
func (v *run) furtherWarnings() document.Section {
	s := document.Section{ID: "further", Title: "More warnings", Fold: true}
	all, further := v.allWarnings()
	for _, text := range slices.Concat(all[min(len(all), warningsShown):], further) {
		s.Note(document.Plain, "-", text)
	}
	return s
}

func (v *run) allWarnings() (all, further []string) {
	all = append(all, v.spread()...)
	for _, d := range DoubtsOf(v.Run, v.names) {
		if changesReading[d.Code] {
			all = append(all, d.String())
		} else {
			further = append(further, d.String())
		}
	}
	if s := v.target(); s != "" {
		all = append(all, s)
	}
	return all, further
}

// spread says how far trials of one model differ, if that is much.
func (v *run) spread() (all []string) {
	for i := range v.loads {
		l := &v.loads[i]
		most, said := 1.5, ""
		for k := range l.Models {
			m := &l.Models[k]
			known := m.Values(ranking.Typical).Known()
			if len(known) < 2 {
				continue
			}
			low, high := slices.Min(known), slices.Max(known)
			if high/max(low, 1) > most {
				most = high / max(low, 1)
				said = fmt.Sprintf("trials differ by up to %.1f× (%s %s to %s ms): the machine was busy; use --trials %d or a quieter machine",
					most, m.Name, ranking.MS(low), ranking.MS(high), max(5, 2*l.Trials-1))
			}
		}
		if said != "" {
			all = append(all, said)
		}
	}
	return all
}

// target says that no model ran on its target engine, with the command that does it.
func (v *run) target() string {
	if v.Sweep != nil {
		return ""
	}
	var engines []string
	for i := range v.loads {
		for k := range v.loads[i].Models {
			m := &v.loads[i].Models[k]
			s := v.explainer.schemas[m.Model]
			switch {
			case s == nil || s.Native == "":
			case s.Native == m.Engine:
				return ""
			case !slices.Contains(engines, s.Native):
				engines = append(engines, s.Native)
			}
		}
	}
	if len(engines) == 0 {
		return ""
	}
	s := "no model ran on its target engine: "
	if slices.Contains(engines, "cassandra") || slices.Contains(engines, "hbase") {
		e := "cassandra"
		if !slices.Contains(engines, e) {
			e = "hbase"
		}
		return s + "run mailbench engine up " + e + " && mailbench run -e " + e
	}
	return s + "run mailbench run -e " + engines[0]
}

// Said is a verdict that is not ok, without its name.
func (d *Notice) Said() string {
	who := strings.Join(d.Who, ", ")
	if d.All && len(d.Who) > 1 {
		who = "all models"
	}
	if d.Phase != "" {
		who += ", " + d.Phase
	}
	s := who + ": " + d.Text
	if d.Differs {
		s += fmt.Sprintf(" (values of %s; others differ)", d.Who[0])
	}
	return s
}
