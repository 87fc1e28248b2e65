package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
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

// A measured distribution has the mean, the median and the p99 of the values, of many values and of few.
func TestDistributions(t *testing.T) {
	for name, d := range map[string]random.Dist{
		"uniform": random.Uniform{Low: 1000, High: 90_000}, "lognormal": random.Lognormal{Median: 4000, P99: 64_000},
		"pareto": random.Pareto{Low: 16_000, Alpha: 1.2, High: 1_000_000}, "zipf": random.NewZipf(2, 50),
		"constant": random.Constant{Value: 7},
		// Half is one value.
		"empirical": random.Empirical{{Value: 1, Fraction: 0}, {Value: 100, Fraction: 0.2}, {Value: 100, Fraction: 0.7}, {Value: 900, Fraction: 1}},
	} {
		for _, n := range []int{70, 500, 5000} {
			var r random.Rand
			r.Seed(1, 2, 3)
			values, drawn, sum := make([]int64, n), make([]int64, 20_000), 0.0
			for i := range values {
				values[i] = d.Draw(&r)
				sum += float64(values[i])
			}
			fitted := distOf(values)
			for i := range drawn {
				drawn[i] = fitted.Draw(&r)
			}
			slices.Sort(drawn)
			what := fmt.Sprintf("%s of %d values: %s: ", name, n, fitted)
			about(t, what+"mean", fitted.Mean(), sum/float64(n), 0.07)
			about(t, what+"median", float64(drawn[10_000]), float64(values[n/2]), 0.05)
			about(t, what+"p99", float64(drawn[19_800]), float64(values[n*99/100]), 0.1)
		}
	}
}

// The largest of many values are drawn, and half of the values, which are one, are half of what is drawn.
func TestManyValues(t *testing.T) {
	const n = 200_000
	values := slices.Repeat([]int64{1, 2}, n/2)
	for i := range 5 {
		values[i] = 1_000_000 + int64(i)
	}
	d := distOf(values).(random.Empirical)
	last := d[len(d)-2:]
	if last[0].Fraction >= 1 || last[0].Value != last[1].Value || math.Abs(d.Mean()-(1.5+1e6*5/n)) > 0.5 {
		t.Errorf("the largest values are never drawn: %s", d)
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
	if strings.Contains(text, "@") {
		t.Errorf("an address in\n%s", text)
	}
	got := parse(t, text)
	about(t, "mean of bodies", got.Mail.Body.Mean(), w.Mail.Body.Mean(), 0.1)
	about(t, "html", got.Mail.HTML, 0.3, 0.1)
	about(t, "share of attachments", got.Mail.Attachments.Share, 0.2, 0.15)
	about(t, "mean of attachments", got.Mail.Attachments.Size.Mean(), w.Mail.Attachments.Size.Mean(), 0.1)
	for what, d := range map[string][2]random.Dist{
		"files": {got.Mail.Attachments.Count, w.Mail.Attachments.Count}, "recipients": {got.Mail.Recipients, w.Mail.Recipients},
		"folders": {got.Population.Folders, w.Population.Folders},
	} {
		about(t, "mean of "+what, d[0].Mean(), d[1].Mean(), 0.15)
	}
	about(t, "messages", got.Population.Messages.Mean(), float64(c.Messages())/float64(c.Folders()), 0.1)
	about(t, "users", float64(got.Population.Users), 40, 0)
}

// Samples that say little become workloads all the same.
func TestLittle(t *testing.T) {
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
