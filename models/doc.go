// Package models holds what all mailbox data models share: the Mailbox
// interface, which is the vocabulary of every workload, and the domain types of
// its operations. Each model is a package of its own below this one: one schema
// file and the mail logic that runs its patterns by name. A model never imports
// an engine.
package models
