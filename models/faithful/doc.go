// Package faithful holds tests that prove, on real engines, that mailbench's models
// store mail as the source documents say. In one direction, a model writes mail
// through its Mailbox, and the source design's own queries read it. In the other, the
// document's own statements write mail, and the model lists and opens it. These
// queries and statements run through a bare client, without mailbench's drivers.
package faithful
