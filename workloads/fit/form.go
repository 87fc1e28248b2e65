package fit

import (
	"cmp"
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// form is a session as the language says it: some steps, a repetition that begins with one
// operation, and further steps.
type form struct {
	before []step
	head   workloads.Op // first operation of each round of the repetition
	chance float64      // chance of the repetition; 0: there is none
	rounds random.Dist
	body   []step // steps of a round after its head
	after  []step
}

// step is an operation that a session does with a chance, a number of times.
type step struct {
	op     workloads.Op
	chance float64
	times  random.Dist // nil: once
}

// bestForm returns the form whose order of operations is nearest to that of the sessions,
// and how near: transitions is the share of transitions that differ, lengths the
// Kolmogorov-Smirnov distance between the numbers of operations.
func bestForm(all []session) (best form, transitions, lengths float64) {
	least := math.Inf(1)
	heads := []int{-1}
	for op := range workloads.NumOps {
		if slices.ContainsFunc(all, func(s session) bool { return slices.Contains(s.ops, workloads.Op(op)) }) {
			heads = append(heads, op)
		}
	}
	seen := transitionShares(func(yield func([]workloads.Op)) {
		for i := range all {
			yield(all[i].ops)
		}
	})
	for _, head := range heads {
		f := formOf(all, head)
		made := f.draw(max(2000, len(all)))
		d := 0.0
		asked := transitionShares(func(yield func([]workloads.Op)) {
			for _, ops := range made {
				yield(ops)
			}
		})
		for pair := range seen {
			d += math.Abs(seen[pair]-asked[pair]) / 2
		}
		// Of two forms that are equally near, the one with fewer steps is better.
		if cost := d + 0.002*float64(len(f.before)+len(f.body)+len(f.after)); cost < least {
			least, best, transitions, lengths = cost, f, d, lengthDistance(all, made)
		}
	}
	return best, transitions, lengths
}

// pairs holds, for each pair of operations, the share of all transitions that go from one to
// the other. Operation NumOps is both the start and the end of a session.
type pairs [(workloads.NumOps + 1) * (workloads.NumOps + 1)]float64

func transitionShares(each func(yield func([]workloads.Op))) *pairs {
	var p pairs
	n := 0.0
	each(func(ops []workloads.Op) {
		last := workloads.NumOps
		for _, op := range ops {
			p[last*(workloads.NumOps+1)+int(op)]++
			last = int(op)
		}
		p[last*(workloads.NumOps+1)+workloads.NumOps]++
		n += float64(len(ops) + 1)
	})
	for i := range p {
		p[i] /= max(n, 1)
	}
	return &p
}

func lengthDistance(all []session, made [][]workloads.Op) (worst float64) {
	count := map[int][2]float64{}
	longest := 0
	for i := range all {
		c := count[len(all[i].ops)]
		c[0] += 1 / float64(len(all))
		count[len(all[i].ops)], longest = c, max(longest, len(all[i].ops))
	}
	for _, ops := range made {
		c := count[len(ops)]
		c[1] += 1 / float64(len(made))
		count[len(ops)], longest = c, max(longest, len(ops))
	}
	off := 0.0
	for n := range longest + 1 {
		off += count[n][0] - count[n][1]
		worst = max(worst, math.Abs(off))
	}
	return worst
}

// formOf returns the form in which the operation head begins each round of the repetition. If
// head is negative, there is no repetition.
func formOf(all []session, head int) (f form) {
	var before, inner, last [][]workloads.Op
	var rounds []int64
	for i := range all {
		ops := all[i].ops
		at := slices.IndexFunc(ops, func(op workloads.Op) bool { return int(op) == head })
		if at < 0 {
			before = append(before, ops)
			continue
		}
		before = append(before, ops[:at])
		n := int64(0)
		for ops = ops[at:]; len(ops) > 0; n++ {
			next := slices.Index(ops[1:], ops[0]) + 1
			if next == 0 {
				last = append(last, ops[1:])
				ops = nil
				continue
			}
			inner = append(inner, ops[1:next])
			ops = ops[next:]
		}
		rounds = append(rounds, n)
	}
	f.before = steps(before, len(all))
	if len(rounds) > 0 {
		f.head, f.chance, f.rounds = workloads.Op(head), share4(len(rounds), len(all)), timesOf(rounds)
		if f.rounds == nil {
			f.rounds = random.Constant{Value: 1}
		}
		f.body, f.after = divide(inner, last)
	}
	switch { // the language wants a first step that is always done
	case len(f.before) > 0 && f.before[0].chance > 0.5 || f.chance == 0:
		f.before[0].chance = 1
	case len(f.before) == 0:
		f.chance = 1
	default:
		f.before = nil
		f.chance = 1
	}
	return f
}

// divide separates the steps of each round from those after the last one: these are more
// frequent in last rounds than in others, by more than chance.
func divide(inner, last [][]workloads.Op) (body, after []step) {
	if len(inner) == 0 {
		return nil, steps(last, len(last))
	}
	n, m := float64(len(inner)), float64(len(last))
	every, ends := steps(inner, len(inner)), steps(last, len(last))
	of := func(steps []step, op workloads.Op) float64 {
		if i := slices.IndexFunc(steps, func(s step) bool { return s.op == op }); i >= 0 {
			return steps[i].chance
		}
		return 0
	}
	for _, s := range ends {
		in := of(every, s.op)
		both := (in*n + s.chance*m) / (n + m)
		if excess := s.chance - in; excess > 4*math.Sqrt(both*(1-both)*(1/n+1/m)) && excess > 0.01 {
			s.chance = round((s.chance-in)/(1-in), 4)
			after = append(after, s)
		}
	}
	for _, s := range every {
		if of(after, s.op) == 0 {
			s.chance = round((s.chance*n+of(ends, s.op)*m)/(n+m), 4)
		}
		body = append(body, s)
	}
	return body, after
}

// steps returns the steps of groups of operations, in the order of their mean places. The
// chance of a step is its number of groups divided by of.
func steps(groups [][]workloads.Op, of int) (all []step) {
	type seen struct {
		place  float64
		counts []int64
	}
	var ops [workloads.NumOps]seen
	for _, g := range groups {
		var counts, first [workloads.NumOps]int64
		for i, op := range g {
			if counts[op]++; counts[op] == 1 {
				first[op] = int64(i)
			}
		}
		for op, n := range counts {
			if n > 0 {
				ops[op].counts = append(ops[op].counts, n)
				ops[op].place += float64(first[op])
			}
		}
	}
	var order []workloads.Op
	for op := range ops {
		if len(ops[op].counts) > 0 {
			order = append(order, workloads.Op(op))
		}
	}
	slices.SortStableFunc(order, func(a, b workloads.Op) int {
		return cmp.Compare(ops[a].place/float64(len(ops[a].counts)), ops[b].place/float64(len(ops[b].counts)))
	})
	for _, op := range order {
		s := step{op: op, chance: share4(len(ops[op].counts), of)}
		if s.chance < rare {
			continue
		}
		s.times = timesOf(ops[op].counts)
		all = append(all, s)
	}
	return all
}

// rare is the share below which a step, or its lack, counts as an accident: users who have
// two sessions at once seem to have one with strange steps.
const rare = 0.01

// share4 is the share n/of to four decimals, or 1 if it is above 1-rare.
func share4(n, of int) float64 {
	v := round(float64(n)/float64(of), 4)
	if v > 1-rare {
		return 1
	}
	return v
}

// timesOf is the distribution of how often a step is done, without the few largest counts. It
// is nil if the step is done once.
func timesOf(counts []int64) random.Dist {
	s := sorted(counts)
	s = s[:max(1, int(math.Ceil(float64(len(s))*(1-rare/2))))]
	most, n := s[0], 0
	for i := 0; i < len(s); { // find the most frequent value
		end, _ := slices.BinarySearch(s, s[i]+1)
		if end-i > n {
			most, n = s[i], end-i
		}
		i = end
	}
	if float64(n) > (1-rare)*float64(len(s)) {
		if most == 1 {
			return nil
		}
		return random.Constant{Value: random.Size(most)}
	}
	all := choose(s)
	for _, c := range all { // prefer uniform: Zipf's law with a small exponent is as near
		if c.name == "uniform" && c.fits(s) && c.distance < all[0].distance+rare {
			return c.dist
		}
	}
	return all[0].dist
}

// draw makes sessions of the form.
func (f *form) draw(n int) (all [][]workloads.Op) {
	var r random.Rand
	r.Seed(1, 0, uint64(n))
	for range n {
		var ops []workloads.Op
		do := func(steps []step) {
			for _, s := range steps {
				if s.chance < 1 && !r.Chance(s.chance) {
					continue
				}
				times := int64(1)
				if s.times != nil {
					times = max(1, s.times.Draw(&r))
				}
				for range min(times, mostOfSession) {
					ops = append(ops, s.op)
				}
			}
		}
		do(f.before)
		if f.chance > 0 && (f.chance == 1 || r.Chance(f.chance)) {
			for range min(max(1, f.rounds.Draw(&r)), mostOfSession) {
				ops = append(ops, f.head)
				do(f.body)
			}
		}
		do(f.after)
		all = append(all, ops[:min(len(ops), mostOfSession)])
	}
	return all
}

// mostOfSession is how many operations a session has at most in the language.
const mostOfSession = 1024
