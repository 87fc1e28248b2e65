package drivers

import "fmt"

// AbsentError is the error of a store that is open for reading only and lacks all that a schema's tables
// would be in.
type AbsentError struct {
	What  string   // "keyspace", "namespace" or "schema"
	Name  string   // in full, as the engine has it
	Where string   // such as "at 127.0.0.1:9042"
	There []string // others of the kind that are there, also those that mailbench did not make
}

// Error implements error.
func (e *AbsentError) Error() string {
	return fmt.Sprintf("there is no %s %s %s", e.What, e.Name, e.Where)
}
