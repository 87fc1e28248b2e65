package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/replay"
)

func parse(t *testing.T, text string) *workloads.Workload {
	t.Helper()
	w, err := workloads.Parse("fitted.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return w
}

// about fails if a value is not within the share of what it should be.
func about(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got/want-1) > within {
		t.Errorf("%s is %.4g, want %.4g to within %.0f%%", what, got, want, 100*within)
	}
}

// Values of each distribution are fitted by that distribution, nearer than chance exceeds
// once in a thousand. That also checks the distribution functions.
func TestDistributions(t *testing.T) {
	const n = 5000
	for name, d := range map[string]random.Dist{
		"uniform": random.Uniform{Low: 1000, High: 90_000}, "lognormal": random.Lognormal{Median: 4000, P99: 64_000},
		"pareto": random.Pareto{Low: 16_000, Alpha: 1.2, High: 1_000_000}, "zipf": random.NewZipf(2, 50),
		"constant": random.Constant{Value: 7},
		// Half is one value, which none of the others can say.
		"empirical": random.Empirical{{Value: 1, Fraction: 0}, {Value: 100, Fraction: 0.2}, {Value: 100, Fraction: 0.7}, {Value: 900, Fraction: 1}},
	} {
		var r random.Rand
		r.Seed(1, 2, 3)
		values := make([]int64, n)
		for i := range values {
			values[i] = d.Draw(&r)
		}
		all := choose(sorted(values))
		if got := all[0]; got.name != name || got.distance > 1.95/math.Sqrt(n) {
			t.Errorf("%s is fitted by %s (%s), D %.4f, of %+v", name, got.name, got.dist, got.distance, all)
		}
		about(t, "mean of "+name, all[0].dist.Mean(), sorted(values).mean(), 0.1)
		if c := all[len(all)-1]; c.name == "empirical" && c.distance > 0.02 {
			t.Errorf("%s: the measured distribution has D %.4f: %s", name, c.distance, c.dist)
		}
	}
}

const known = `
version: 1
name: known
mail:
  body: {lognormal: {median: 4KB, p99: 64KB}}
  html: 0.3
  attachments: {share: 0.2, count: {zipf: {s: 2, max: 5}}, size: {pareto: {min: 5KB, alpha: 1.2, max: 200KB}}}
  recipients: {zipf: {s: 2, max: 20}}
population: {users: 40, folders: 4, messages: {lognormal: {median: 50, p99: 400}}}
access: {users: {zipf: {theta: 0.8}}, folders: {latest: {theta: 1.2}}}
phases:
  - load: {}
  - measure:
      duration: 60s
      rate: 200/s
      arrivals: poisson
      mix: {list: 50, open: 25, deliver: 15, move: {weight: 5, messages: {uniform: {min: 1, max: 9}}}, delete: 5}
`

// Mail generated from a workload is fitted by that workload.
// Of samples that come from a distribution, few of any size are said to come from none.
func TestFitAllowsForChance(t *testing.T) {
	for _, n := range []int{99, 100, 200, 400} {
		none := 0
		for seed := range 100 {
			r, values := rand.New(rand.NewPCG(uint64(seed), 1)), make(sample, n)
			for i := range values {
				values[i] = r.Int64N(1_000_000)
			}
			slices.Sort(values)
			if choose(values)[0].name == "empirical" {
				none++
			}
		}
		t.Logf("%d values: %d of 100 samples", n, none)
		if none > 15 {
			t.Errorf("%d values: nothing fits %d of 100 samples", n, none)
		}
	}
}

func TestMail(t *testing.T) {
	w := parse(t, known)
	c, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var s Sample
	for u := range c.Users() {
		var counts []int64
		for f := range c.FolderCount(u) {
			counts = append(counts, int64(c.FolderMessages(u, f)))
		}
		s.User(counts...)
	}
	r, p := messages.NewGenerator(w).Reader(), mail.NewParser()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 3000 {
		var made, read mail.Message
		if err := r.Message(uint64(n), start.Add(time.Duration(n)*time.Second/20), &made); err != nil {
			t.Fatal(err)
		}
		if err := p.Parse(made.Raw, time.Time{}, &read); err != nil {
			t.Fatal(err)
		}
		s.Message(&read)
	}
	text := s.Workload()
	if !strings.Contains(text, "# bytes of texts and files in a message: ") {
		t.Errorf("nothing of bytes in\n%s", text)
	}
	if strings.Contains(text, "@") || strings.Contains(text, "does not fit: the") {
		t.Errorf("an address, or what does not fit, in\n%s", text)
	}
	got := parse(t, text)
	body, _ := got.Mail.Body.(random.Lognormal)
	about(t, "median of bodies", float64(body.Median), 4000, 0.05)
	about(t, "p99 of bodies", float64(body.P99), 64_000, 0.15)
	about(t, "html", got.Mail.HTML, 0.3, 0.1)
	about(t, "share of attachments", got.Mail.Attachments.Share, 0.2, 0.15)
	size, _ := got.Mail.Attachments.Size.(random.Pareto)
	about(t, "alpha of attachments", size.Alpha, 1.2, 0.15)
	for what, d := range map[string][2]random.Dist{
		"files": {got.Mail.Attachments.Count, w.Mail.Attachments.Count}, "recipients": {got.Mail.Recipients, w.Mail.Recipients},
		"folders": {got.Population.Folders, w.Population.Folders},
	} {
		about(t, "mean of "+what, d[0].Mean(), d[1].Mean(), 0.15)
	}
	about(t, "messages", got.Population.Messages.Mean(), float64(c.Messages())/float64(c.Folders()), 0.1)
	about(t, "users", float64(got.Population.Users), 40, 0)
	about(t, "rate", got.Phases[3].Rate.PerSecond(), 20, 0.02)
}

// trace makes a sample of the operations of a phase.
func trace(t *testing.T, w *workloads.Workload) *Sample {
	t.Helper()
	c, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	s, stream := &Sample{}, plan.StreamOf(w, &w.Phases[1], c)
	for o := (plan.Operation{}); ; {
		due, ok := stream.Next(0, &o)
		if !ok {
			return s
		}
		l := replay.Line{Time: replay.Seconds(due.Seconds()), User: plan.Address(o.User), Folder: plan.FolderName(o.Folder), Messages: float64(o.Messages)}
		if o.Op == workloads.Deliver {
			l.Size = float64(3000 + o.N%4000)
			for _, u := range o.Recipients {
				l.Recipients = append(l.Recipients, plan.Address(u))
			}
		}
		s.Operation(&l, o.Op)
	}
}

// Operations of a workload are fitted by that workload.
func TestTrace(t *testing.T) {
	w := parse(t, known)
	text := trace(t, w).Workload()
	if strings.Contains(text, "@") || strings.Contains(text, "does not fit") {
		t.Errorf("an address, or what does not fit, in\n%s", text)
	}
	got := parse(t, text)
	p, want := &got.Phases[3], &w.Phases[1]
	for i := range workloads.NumOps {
		if op := workloads.Op(i); math.Abs(p.Mix.Share(op)-want.Mix.Share(op)) > 0.01 {
			t.Errorf("%s has a share of %.3f, want %.3f", op, p.Mix.Share(op), want.Mix.Share(op))
		}
	}
	about(t, "rate", p.Rate.PerSecond(), 200, 0.03)
	if p.Arrivals != workloads.Poisson || p.Shape != nil {
		t.Errorf("arrivals are %v with the shape %v, want poisson", p.Arrivals, p.Shape)
	}
	about(t, "theta of users", got.Keys.Users.Theta, 0.8, 0.1)
	about(t, "theta of folders", got.Keys.Folders.Theta, 1.2, 0.05)
	about(t, "users", float64(got.Population.Users), 40, 0)
	about(t, "folders", got.Population.Folders.Mean(), 4, 0)
	about(t, "recipients", got.Mail.Recipients.Mean(), w.Mail.Recipients.Mean(), 0.1)
	about(t, "bodies", got.Mail.Body.Mean(), 5000-header, 0.02)
	about(t, "messages that are moved", p.How[workloads.Move].Messages.Mean(), 5, 0.05)

	// A rate that changes becomes steps, constant distances stay constant.
	for rate, arrivals := range map[string]workloads.Arrivals{
		"{ramp: {from: 20/s, to: 180/s}}": workloads.Poisson, "100/s": workloads.Constant,
	} {
		changed := strings.NewReplacer("200/s", rate, "poisson", arrivals.String()).Replace(known)
		text := trace(t, parse(t, changed)).Workload()
		p := &parse(t, text).Phases[3]
		if p.Arrivals != arrivals || (p.Shape != nil) != strings.Contains(rate, "ramp") {
			t.Errorf("%s %s becomes %v with the shape %v\n%s", rate, arrivals, p.Arrivals, p.Shape, text)
		}
		about(t, "rate of "+rate, p.Rate.PerSecond(), 100, 0.05)
		if p.Shape != nil {
			about(t, "first half of "+rate, p.Shape.Count(30*time.Second), 30*60, 0.1)
		}
	}
}

// Samples that say little become workloads all the same, and these say what was not measured.
func TestLittle(t *testing.T) {
	for i, ops := range [][]replay.Line{
		{{User: "a", Op: "deliver"}},
		{{User: "a", Op: "restore"}, {User: "a", Op: "attachment"}},
		{{User: "a", Op: "move"}, {User: "a", Op: "move", Messages: 1000, Time: 1e-12}, {User: "b", Op: "deliver", Size: 50_000_000, Time: 1e9}},
		{{User: "a", Op: "login"}, {User: "b", Op: "deliver", Size: 1, Recipients: strings.Split(strings.Repeat("x,", 2000), ",")}},
	} {
		var s Sample
		for _, l := range ops {
			op, _ := workloads.ParseOp(l.Op)
			s.Operation(&l, op)
		}
		text := s.Workload()
		if parse(t, text); !strings.Contains(text, "not measured") {
			t.Errorf("%d: nothing is said to be missing in\n%s", i, text)
		}
	}
	for _, raw := range []string{"", "\n", "Date: x\nTo: a, b\n\n", "Date: Thu, 22 Aug 2002 18:26:25 +0700\nContent-Type: text/html\n\n<p>"} {
		var s Sample
		var m mail.Message
		if err := mail.NewParser().Parse(mail.BytesContent(raw), time.Time{}, &m); err != nil {
			t.Fatal(err)
		}
		s.Message(&m)
		s.User(1, 0)
		parse(t, s.Workload())
	}
}

// The values of a heavy tail, of few and of many values, keep their mean.
// The quantiles of a lognormal distribution are fitted by that distribution, as exactly as its
// median and p99 are written with three digits.
func TestLognormalIsExact(t *testing.T) {
	const n = 10_001
	want := random.Lognormal{Median: 4_000_000, P99: 64_000_000}
	values := make([]int64, n)
	for i := range values {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/n-1)
		values[i] = int64(math.Round(float64(want.Median) * math.Pow(16, z/2.3263478740408408)))
	}
	got := sorted(values).lognormal()
	if got.dist != want || got.distance > 0.6/n {
		t.Errorf("%s, D %.6f; want %s, D %.6f", got.dist, got.distance, want, 0.5/n)
	}
}

func TestMeanIsKept(t *testing.T) {
	for _, n := range []int{2, 30, 500, 20_000} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(100 / math.Pow(1-(float64(i)+0.5)/float64(n), 0.9))
			if i%3 == 0 {
				values[i] = 235
			}
		}
		s := sorted(values)
		about(t, fmt.Sprintf("mean of %d values", n), s.empirical().dist.Mean(), s.mean(), 0.05)
	}
}

// TestFewHeavyValues: of few values the nearest distribution may have another mean, and so lose
// bytes. It is not taken, and the workload says how many bytes the mail has and the fit.
func TestFewHeavyValues(t *testing.T) {
	var values []int64
	for i := range 67 { // an attachment of 20 MB among those that a Pareto distribution fits
		values = append(values, int64(10_000/math.Pow(1-(float64(i)+0.5)/67, 1/1.5)))
	}
	values[66] = 20_000_000
	s := sorted(values)
	taken := choose(s)[0]
	if taken.distance > limit(len(s)) || math.Abs(taken.off(s)) > nearMean {
		t.Errorf("%s is taken: D %.3f, mean off by %.0f%%", taken.name, taken.distance, 100*taken.off(s))
	}
	if near := choose(s)[1]; near.distance > limit(len(s)) {
		t.Errorf("%s is not near: the test shows nothing", near.name)
	}
}

// A large message of a trace is text and a file, a small one is all text.
func TestSizesOfTrace(t *testing.T) {
	w := &writer{s: &Sample{sizes: []int64{2000, 1 << 20}}}
	files, got := w.mail(), w.String()
	for _, want := range []string{"2 values from 1100 to 8192,", "# share: 1 of 2 messages", "    size: 779613"} {
		if !files || !strings.Contains(got, want) {
			t.Errorf("files %v, no %q in:\n%s", files, want, got)
		}
	}
}

// Gaps of a Poisson process differ from bursts.
func TestGaps(t *testing.T) {
	var poisson, bursts []float64
	for i := range 100 {
		poisson = append(poisson, -math.Log(1-(float64(i)+0.5)/100))
		bursts = append(bursts, 0.01, 0.01, 0.01, 5)
	}
	for want, gaps := range map[string][]float64{"from a Poisson process 0.006,": poisson, "operations come more in bursts": bursts} {
		w := &writer{}
		if w.gaps(gaps); !strings.Contains(w.String(), want) || strings.Contains(w.String(), "does not fit") != (len(gaps) > 100) {
			t.Errorf("no %q in:\n%s", want, w.String())
		}
	}
}
