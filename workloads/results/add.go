package results

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Add adds what b counted to o: the same operation in another trial, on another segment, or in
// another stream. Rates are added; the store's cost becomes the mean over the operations of
// both. Latencies stay those of o: only histograms can be added (TimesOf).
func (o *Op) Add(b *Op) {
	n, m := o.Count, b.Count
	o.Store.add(n, &b.Store, m)
	o.Patterns = addPatterns(o.Patterns, n, b.Patterns, m)
	Add(o, b)
	if slices.Index(supports, b.Support) > slices.Index(supports, o.Support) {
		o.Support = b.Support
	}
	o.Fallback, o.Missing = addNames(o.Fallback, b.Fallback), addNames(o.Missing, b.Missing)
	o.Errors = AddErrors(o.Errors, b.Errors...)
}

// supports are in order: a sum has the last one that a part has.
var supports = []Support{NotObserved, Native, EmulatedOp, NotOffered}

// addNames adds the names of b that a does not have. Both are lists with commas.
func addNames(a, b string) string {
	names := Distinct(strings.Split(a+", "+b, ", "), strings.TrimSpace)
	return strings.Trim(strings.Join(names, ", "), ", ")
}

// add makes s, the mean cost of n operations, that of these and m others.
func (s *StoreCost) add(n int64, b *StoreCost, m int64) {
	switch {
	case m == 0:
		return
	case n == 0:
		*s = *b
		return
	}
	sum, others := *s, b.Means()
	for i, x := range sum.Means() {
		*x = meanOf(*x, n, *others[i], m)
	}
	// The standard deviation of all follows from means and deviations (T. F. Chan, G. H. Golub, R. J. LeVeque, Updating
	// Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
	deviationOf := func(f Figure, n, m int64) float64 {
		x, y := float64(n), float64(m)
		was, off := counters[f].of(s)
		more, moreOff := counters[f].of(b)
		between := (more - was) * (more - was) * x * y / (x + y)
		if between <= 1e-12*max(was*was, more*more) { // equal means that were rounded
			between = 0
		}
		return math.Sqrt((off*off*(x-1) + moreOff*moreOff*(y-1) + between) / (x + y - 1))
	}
	sum.RequestsDeviation, sum.RowsDeviation = deviationOf(Requests, n, m), deviationOf(Rows, n, m)
	sum.BytesDeviation = deviationOf(Bytes, n, m)
	sum.RowsScanned, sum.Traced, sum.ScannedDeviation = nil, 0, 0
	if s.RowsScanned != nil && b.RowsScanned != nil { // they are known if those of each operation are
		if s.Traced > 0 && b.Traced > 0 { // each is the mean of the traced operations
			n, m = s.Traced, b.Traced
		}
		mean := meanOf(*s.RowsScanned, n, *b.RowsScanned, m)
		sum.RowsScanned, sum.Traced, sum.ScannedDeviation = &mean, s.Traced+b.Traced, deviationOf(Examined, n, m)
	}
	*s = sum
}

// meanOf is the mean of two values, weighted by their operations.
func meanOf(a float64, n int64, b float64, m int64) float64 {
	return (a*float64(n) + b*float64(m)) / float64(max(1, n+m))
}

// addPatterns is how many calls of each pattern n operations and m others made, on average. Of times P50 becomes the
// mean, weighted by runs, and P99 the larger of both.
func addPatterns(a []PatternRequests, n int64, b []PatternRequests, m int64) (sum []PatternRequests) {
	for i, p := range slices.Concat(a, b) {
		at := slices.IndexFunc(sum, func(have PatternRequests) bool { return have.Name == p.Name })
		if at < 0 {
			at, sum = len(sum), append(sum, PatternRequests{Name: p.Name})
		}
		to, ran := &sum[at], n
		if i >= len(a) {
			ran = m
		}
		to.Requests += p.Requests * float64(ran) / float64(max(1, n+m))
		if t := p.Service; t != nil {
			have := cmp.Or(to.Service, t)
			p50 := meanOf(float64(have.P50), to.Count, float64(t.P50), p.Count)
			to.Service = &PatternTimes{int64(p50), max(have.P99, t.P99), max(have.Max, t.Max)}
			to.Count += p.Count
		}
	}
	slices.SortStableFunc(sum, func(a, b PatternRequests) int { return cmp.Compare(b.Requests, a.Requests) })
	return sum
}

// AddErrors adds the counts of texts that are alike. The most frequent text is first. Beyond five texts, others are
// counted together as OtherErrors, which is last.
func AddErrors(a []ErrorCount, b ...ErrorCount) []ErrorCount {
	sum := slices.Clone(a)
	for _, e := range b {
		at := slices.IndexFunc(sum, func(have ErrorCount) bool { return alike(have.Text, e.Text) })
		if at < 0 && len(sum) >= 5 {
			e.Text = OtherErrors
			at = slices.IndexFunc(sum, func(have ErrorCount) bool { return have.Text == OtherErrors })
		}
		if at >= 0 {
			sum[at].Count += e.Count
		} else {
			sum = append(sum, e)
		}
	}
	rank := func(e ErrorCount) int64 {
		if e.Text == OtherErrors {
			return -1
		}
		return e.Count
	}
	slices.SortStableFunc(sum, func(a, b ErrorCount) int { return cmp.Compare(rank(b), rank(a)) })
	return sum
}

// alike reports whether texts are of the same error: they differ only in words in which these differ, names of
// accounts, messages and nodes, numbers and times.
func alike(a, b string) bool {
	named := func(word string) bool { return strings.ContainsAny(word, "0123456789@") }
	return slices.EqualFunc(strings.Fields(a), strings.Fields(b), func(x, y string) bool {
		return x == y || named(x) && named(y)
	})
}

// Add adds what another load generator, worker or stream counted at the same time: Delays, Offered, ClientInfo,
// Evidence, EngineInfo. The tag add of a field says how: sum, max, size (a sum that is -1 if a part is negative), store
// (a sum), or (true, or the first text), and, each (of the fields that it points to). That of a struct holds for all
// its fields. Shares and losses become those of the worst; fields without the tag follow from all parts together, and
// stay.
func Add[T any](a, b *T) { addFields(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "sum", "") }

// Add adds what the audit of another segment found. Common says that both audited one store: what
// each found in all of it is then not added up, and the larger number holds.
func (a *Audit) Add(b *Audit, common bool) {
	store := "sum"
	if common {
		store = "max"
	}
	addFields(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), store, "")
	for to, text := range map[*string]string{&a.Fault: b.Fault, &a.Error: b.Error} {
		if !strings.Contains(*to, text) {
			*to = strings.TrimPrefix(*to+"; "+text, "; ")
		}
	}
}

// addFields is Add with the rules for the fields store, and for those without a tag.
func addFields(sum, other reflect.Value, store, untagged string) {
	for i := range sum.NumField() {
		rule := cmp.Or(sum.Type().Field(i).Tag.Get("add"), untagged)
		if rule == "store" {
			rule = store
		}
		switch x, y := sum.Field(i), other.Field(i); {
		case rule == "" || rule == "each" && y.IsNil():
		case rule == "each":
			if x.IsNil() {
				x.Set(reflect.New(x.Type().Elem()))
			}
			addFields(x.Elem(), y.Elem(), store, "")
		case x.Kind() == reflect.Struct:
			addFields(x, y, store, rule)
		case x.Kind() == reflect.Slice:
			x.Set(reflect.AppendSlice(x, y))
		case x.Kind() == reflect.Bool:
			x.SetBool(x.Bool() && y.Bool() || rule == "or" && (x.Bool() || y.Bool()))
		case x.Kind() == reflect.String:
			x.SetString(cmp.Or(x.String(), y.String()))
		case x.Kind() == reflect.Float64:
			x.SetFloat(joined(rule, x.Float(), y.Float()))
		default:
			x.SetInt(joined(rule, x.Int(), y.Int()))
		}
	}
}

func joined[N int64 | float64](rule string, a, b N) N {
	switch {
	case rule == "max":
		return max(a, b)
	case rule == "size" && (a < 0 || b < 0):
		return -1
	}
	return a + b
}

// Means are the fields that are means of all operations: those with the tag add:"mean".
func (s *StoreCost) Means() (all []*float64) {
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		if fields.Type().Field(i).Tag.Get("add") == "mean" {
			all = append(all, fields.Field(i).Addr().Interface().(*float64))
		}
	}
	return all
}
