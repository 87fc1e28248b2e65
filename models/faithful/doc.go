// Package faithful proves, on real engines, that what mailbench creates and
// writes is what the source documents say. It holds tests only: a model writes
// mail through its Mailbox, and the document's own queries read it through a
// bare client of the engine, without any of mailbench's layers; and what a bare
// client writes as the document would, the model lists and opens.
package faithful
