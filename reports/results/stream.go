package results

// Stream is one of the streams that a phase runs at once, with figures of its own.
type Stream struct {
	Name     string `json:"name"`
	Arrivals string `json:"arrivals"` // constant, poisson or closed
	// Rate is the operations a second of all shards together. The operations of sessions count one by one.
	Rate    float64 `json:"rate,omitempty"`
	Clients int     `json:"clients,omitempty"`
	Offered Offered `json:"offered"`
	// Late and Queued count operations that started late: see Evidence.
	Late   int64         `json:"late"`
	Queued int64         `json:"queued"`
	AllOps *AllOps       `json:"all_ops,omitempty"` // all operations of the stream together
	Ops    map[string]Op `json:"ops"`
}

// StreamOp names an operation of a stream in the tags of the interval log: STREAM:OPERATION.
func StreamOp(stream, op string) string { return stream + ":" + op }

// Stream returns the stream of that name, or nil.
func (c *Cell) Stream(name string) *Stream {
	for i := range c.Streams {
		if c.Streams[i].Name == name {
			return &c.Streams[i]
		}
	}
	return nil
}

// Tagged is what the tags of the interval log call an operation of a stream. If no other
// stream has the operation, that is its own name, else StreamOp.
func (c *Cell) Tagged(s *Stream, op string) string {
	for i := range c.Streams {
		if _, ok := c.Streams[i].Ops[op]; ok && c.Streams[i].Name != s.Name {
			return StreamOp(s.Name, op)
		}
	}
	return op
}

// Alone is the cell as if it had this stream only.
func (c *Cell) Alone(s *Stream) *Cell {
	one := *c
	one.Arrivals, one.Rate, one.Clients, one.Offered = s.Arrivals, s.Rate, s.Clients, &s.Offered
	one.AllOps, one.Ops, one.Streams = s.AllOps, s.Ops, nil
	if c.Evidence != nil {
		e := *c.Evidence
		e.Delays = nil // those of the whole phase
		one.Evidence = &e
	}
	return &one
}
