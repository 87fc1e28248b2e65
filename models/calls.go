package models

import "github.com/mailbench/mailbench/drivers"

// Calls collects the parts of a batch in buffers that it reuses.
type Calls struct {
	List []drivers.Call
	args []drivers.Value
}

// Reset empties the list.
func (c *Calls) Reset() { c.List, c.args = c.List[:0], c.args[:0] }

// forget empties the list and clears its buffers.
func (c *Calls) forget() {
	clear(c.List[:cap(c.List)])
	clear(c.args[:cap(c.args)])
	c.Reset()
}

// Add adds a call of a part of the batch. part is its position in the batch.
func (c *Calls) Add(part int, args ...drivers.Value) {
	at := len(c.args)
	// If append allocates a larger array, earlier calls keep the old one.
	c.args = append(c.args, args...)
	c.List = append(c.List, drivers.Call{Part: part, Args: c.args[at:len(c.args):len(c.args)]})
}
