package reports

// Due is the distribution of the response times of an operation of the cell over everything
// that was due. In a closed loop they are service times. A percentile is NeverEnded if it lies
// among operations that were dropped.
func (c *Cell) Due(o *Op) *Latency {
	if o.Due != nil {
		return o.Due
	}
	return c.Latency(o)
}

// Attempted is how many operations were due and offered, whatever became of them.
func (o *Op) Attempted() int64 { return o.Count + o.others() }
