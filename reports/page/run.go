package page

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// runView is what the template shows of one run.
type runView struct {
	*results.Run
	Facts       []fact
	Ran         string // what ran, in a line
	Answers     []answerView
	Told        []string         // sentences with which the workload answers its question
	Doubts      []reports.Notice // that are shown
	MoreDoubts  []reports.Notice // that are folded
	Repeat      string
	Overview    *reports.Overview
	Fine        string // says that every verdict is ok, or ""
	Matrices    []matrix
	Found       []searchView
	FoundLegend []line
	Growths     []growthView
	GrownLegend []line
	GrownText   string
	Phases      []phaseView // measured phases
	OnPaper     bool        // their figures are printed
	Loads       []phaseView // other phases with figures
	Broken      []reports.Interruption
	BrokenHeads []string
	BrokenText  string
	Strips      []strip
	TimeLegend  []line
	DelayLegend []line
	Models      []modelView
	Style       string
	Regime      string
	Floors      string
	TooFew      string // what a dash among the percentiles means
	Added       string // what additions to the documents cost, in short
	Additions   string
	Audited     []auditView
	Cells       []cellView
	Operations  []glossary.Term
	Columns     []glossary.Term
}

// phaseView holds the figures and charts of a phase.
type phaseView struct {
	Phase, ID, Load, Durability, Achieved string
	Figures, Trials, Lags                 *table
	Streams                               []reports.StreamRow
	Curves                                percentileCharts
	NoLog                                 bool // the curves are gone
	Strips                                []strip
	Short                                 []string // models whose phase was too short to be drawn over time
}

type auditView struct {
	Name, Summary string
	Bad           bool
	Notes         []string
}

type cellView struct {
	Name string
	*results.Cell
}

func newRunView(s *Source) *runView {
	r, n, all := s.Run, reports.NamesIn(s.Run), reports.Sections(s.Run)
	v := &runView{
		Run: r, Repeat: repeat(s.Name), Overview: reports.OverviewOf(r), TooFew: reports.TooFew(all),
		Regime: reports.Regime(all, n), Floors: reports.Floors(r),
		Added: reports.Added(r), Additions: reports.Additions(r),
		Strips: newStrips(r, n, afterLoad), TimeLegend: timeLegend, DelayLegend: latencyLegend,
		Operations: glossary.Operations(), Columns: glossary.Columns(),
	}
	v.facts()
	v.Answers, v.Told = newAnswerViews(r, v.Overview), reports.Told(r, n)
	v.doubtViews()
	if len(v.Overview.Verdicts) == 0 && len(r.Cells) > 0 {
		v.Fine = "All verdicts are ok: the figures are those of the engines at the load that was asked for."
	}
	v.Found, v.FoundLegend = newSearchViews(r, n), searchLegend
	for i := range v.Overview.Parts {
		if m := newMatrix(&v.Overview.Parts[i]); len(m.Columns) > 1 {
			v.Matrices = append(v.Matrices, m)
		}
	}
	var colours palette
	if r.Sweep != nil {
		v.Growths, v.GrownText = newGrowthViews(r, n, &colours), reports.GrowthLegend
		v.GrownLegend = colours.legend()
	}
	for i := range all {
		p := newPhaseView(r, &all[i], n, s.Curves, &colours)
		p.NoLog = s.NoLog && all[i].Cells[0].Measured() // others never have curves
		p.ID = anchor("phase", i)
		if all[i].Cells[0].Measured() {
			v.Phases = append(v.Phases, p)
		} else if p.Figures != nil {
			p.Strips = newStrips(r, n, func(c *results.Cell) bool { return slices.Contains(all[i].Cells, c) })
			for _, c := range all[i].Cells {
				if len(c.Timeline) < timelineLeast {
					p.Short = append(p.Short, n.Of(c))
				}
			}
			v.Loads = append(v.Loads, p)
		}
	}
	lines := 0
	for i := range v.Phases {
		lines += v.Phases[i].Figures.lines()
	}
	v.OnPaper = lines <= paperLines
	v.Broken = reports.InterruptionsOf(r)
	v.BrokenHeads, v.BrokenText = reports.InterruptionHeads, reports.InterruptionLegend
	v.Models = newModelViews(r)
	for i := range r.Audits {
		a := &r.Audits[i]
		v.Audited = append(v.Audited, auditView{n.Audit(a), reports.AuditSummary(a), a.Wrong(), a.Notes})
	}
	for i := range r.Cells {
		v.Cells = append(v.Cells, cellView{n.Of(&r.Cells[i]), &r.Cells[i]})
	}
	return v
}

// afterLoad reports whether a phase is drawn over time with the measured ones. A load is left
// out: it is much faster, and would flatten the others.
func afterLoad(c *results.Cell) bool { return c.Measured() || c.Kind == results.KindWarmup }

// facts sets the facts below the title.
func (v *runView) facts() {
	r := v.Run
	add := func(label, text string) {
		if text != "" {
			v.Facts = append(v.Facts, fact{label, text})
		}
	}
	v.Ran = strings.Join(append(reports.EnginesIn(r), "started "+r.Started, "took "+words.Duration(r.Seconds*1e9)), ", ")
	add("run", "started "+r.Started+", took "+words.Duration(r.Seconds*1e9))
	add("models", strings.Join(modelsOf(r), ", "))
	for _, e := range reports.EnginesOf(r) {
		add("engine", e)
	}
	add("machine", reports.MachineLine(&r.Environment))
	if r.Mail != nil {
		add("mail", reports.MailLine(r.Mail))
	}
	add("shards", reports.ShardLine(r))
}

// modelsOf are the models of the run's cells, in their order.
func modelsOf(r *results.Run) []string {
	var names []string
	for i := range r.Cells {
		if m := r.Cells[i].Model; !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	return names
}

func newPhaseView(
	r *results.Run, s *reports.Section, n reports.Names, curves []results.Curve, colours *palette,
) phaseView {
	first := s.Cells[0]
	p := phaseView{
		Phase: first.Where(), Load: reports.LoadLine(first), Durability: first.Durability, Achieved: s.AchievedRates(n),
	}
	if len(s.Ops) == 0 {
		return p
	}
	cs := columnsOf(s, n)
	figures := newTable(r, s, cs)
	p.Figures, p.Streams = &figures, s.Streams(n)
	if len(cs) < len(s.Cells) {
		trials := newTable(r, s, apart(s, n))
		p.Trials = &trials
	}
	p.Curves, p.Lags = newPercentileCharts(s, curves, n, colours), newLags(s, cs)
	return p
}

// doubtViews divides the doubts into those that are shown and those that are folded.
func (v *runView) doubtViews() {
	all := v.Overview.Doubts
	n := min(len(all), max(0, doubtsShown-len(v.Overview.Verdicts)))
	v.Doubts, v.MoreDoubts = all[:n], all[n:]
}

// Source is a run and what a page shows of it.
type Source struct {
	Name   string // name of the run's folder, if it is known
	Run    *results.Run
	Curves []results.Curve
	NoLog  bool // the run's latency log is gone, and with it the curves
}
