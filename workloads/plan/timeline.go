package plan

import "time"

// Timeline is when the messages of a data set arrived: those of its load, then those of each growth.
type Timeline []arrivals

// arrivals are the messages of one step. They arrived evenly from first to last.
type arrivals struct {
	first, last time.Time
	messages    int64
}

// Add adds the messages of the next step.
func (t *Timeline) Add(messages int64) {
	end, span := (&Growth{Step: len(*t)}).time()
	*t = append(*t, arrivals{end.Add(-span), end, messages})
}

// at returns when a share of the messages had arrived.
func (t Timeline) at(share float64) time.Time {
	var all int64
	for _, a := range t {
		all += a.messages
	}
	before := share * float64(all)
	for i, a := range t {
		if n := float64(a.messages); before <= n || i == len(t)-1 {
			return a.first.Add(time.Duration(min(1, before/max(1, n)) * float64(a.last.Sub(a.first))))
		}
		before -= float64(a.messages)
	}
	end, _ := new(Growth).time()
	return end
}
