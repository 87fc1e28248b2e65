package hbase

import "github.com/mailbench/mailbench/drivers"

// slots are the slots of one worker: one, and more for what a pattern runs in parallel.
type slots struct {
	cluster *cluster
	slot    *slot
	more    []*slot
}

// parallel returns n slots for parallel calls.
func (s *slots) parallel(n int) []*slot {
	for len(s.more) < n {
		sl := s.cluster.newSlot()
		sl.tally = s.slot.tally
		s.more = append(s.more, sl)
	}
	return s.more[:n]
}

// take returns what calls have cost since the last take, and forgets it.
func (s *slots) take() drivers.Cost {
	c := s.slot.cost.Take()
	for _, sl := range s.more {
		own := sl.cost.Take()
		c.Add(&own)
	}
	return c
}

// examined counts rows that HBase has read. They are those that it returned, unless a filter has
// dropped some: see scanRange.told.
func (s *slots) examined(rows int) { s.slot.cost.Cost.RowsExamined += int64(rows) }

func (s *slots) close() {
	s.slot.close()
	for _, sl := range s.more {
		sl.close()
	}
}
