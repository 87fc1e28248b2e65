package fit

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads"
)

// event is an operation of a user of a trace. at is in seconds, folder a digest of the
// folder's name.
type event struct {
	at     float64
	folder uint32
	op     workloads.Op
}

func folderDigest(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// session is what one user did in one folder with no long pause: operations, and the times
// between them in seconds.
type session struct {
	start float64
	ops   []workloads.Op
	think []float64
}

// sessions divides the operations of each user, without deliveries, into sessions, in order
// of their starts. A session ends when the user does nothing for longer than pause, in
// seconds, or changes the folder. ok is false if short and long pauses cannot be told apart,
// or if sessions would have fewer than two operations on average.
func (s *Sample) sessions() (all []session, pause float64, ok bool) {
	var logs []float64
	for _, a := range s.users {
		slices.SortStableFunc(a.events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
		for i := 1; i < len(a.events); i++ {
			if gap := a.events[i].at - a.events[i-1].at; gap > 0 {
				logs = append(logs, math.Log(gap))
			}
		}
	}
	valley, ok := valley(logs)
	if !ok {
		return nil, 0, false
	}
	pause = math.Exp(valley)
	operations := 0
	for _, a := range s.users {
		var one session
		last := event{}
		for i, e := range a.events {
			begins := i == 0 || e.at-last.at > pause || !wholeAccount[e.op] && !wholeAccount[last.op] && e.folder != last.folder
			switch {
			case begins:
				if i > 0 {
					all = append(all, one)
				}
				one = session{start: e.at, ops: []workloads.Op{e.op}}
			default:
				one.ops, one.think = append(one.ops, e.op), append(one.think, e.at-last.at)
			}
			if last.at = e.at; begins || !wholeAccount[e.op] {
				last.folder, last.op = e.folder, e.op
			}
		}
		if len(a.events) > 0 {
			all = append(all, one)
		}
		operations += len(a.events)
	}
	slices.SortFunc(all, func(a, b session) int {
		return cmp.Or(cmp.Compare(a.start, b.start), slices.Compare(a.ops, b.ops), slices.Compare(a.think, b.think))
	})
	return all, pause, operations >= 2*len(all)
}

const (
	valleyBins = 100
	// valleyDepth is how high the valley between two kinds of pauses may be, as a share of the
	// lower of the peaks beside it.
	valleyDepth = 0.3
)

// valley finds the emptiest place between the two kinds of values that the best division
// makes (Otsu 1979). It returns false if there is no valley, or too few values.
func valley(values []float64) (at float64, ok bool) {
	if len(values) < smallSample {
		return 0, false
	}
	low, high := slices.Min(values), slices.Max(values)
	width := (high - low) / valleyBins
	if !(width > 0) || math.IsInf(width, 0) {
		return 0, false
	}
	raw := make([]float64, valleyBins)
	for _, v := range values {
		raw[min(int((v-low)/width), valleyBins-1)]++
	}
	bins := make([]float64, valleyBins) // smoothed: each the mean of seven
	for i := range bins {
		for j := max(0, i-3); j <= min(valleyBins-1, i+3); j++ {
			bins[i] += raw[j] / 7
		}
	}
	n, sum := float64(len(values)), 0.0
	for i, c := range raw {
		sum += c * float64(i)
	}
	best, from, to := 0.0, 0, 0
	below, belowSum := 0.0, 0.0
	for i, c := range raw[:valleyBins-1] {
		below, belowSum = below+c, belowSum+c*float64(i)
		if above := n - below; below > 0 && above > 0 {
			a, b := belowSum/below, (sum-belowSum)/above
			if between := below * above * (b - a) * (b - a); between > best {
				best, from, to = between, int(a), int(math.Ceil(b))
			}
		}
	}
	emptiest := slices.Min(bins[from : to+1])
	first := from + slices.Index(bins[from:to+1], emptiest)
	last := first
	for last < to && bins[last+1] == emptiest {
		last++
	}
	peak := min(slices.Max(bins[:first+1]), slices.Max(bins[last:]))
	return low + width*(float64(first+last)/2+0.5), emptiest <= valleyDepth*peak
}
