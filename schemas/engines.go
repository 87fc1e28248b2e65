package schemas

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// engineName is an engine that a schema file names, in native or in hints.
type engineName struct {
	name, where string
	at          *yaml.Node
}

// CheckEngines reports engines that the file names and that are not known. Parse does not
// know which engines there are. The error is of type [Errors].
func (s *Schema) CheckEngines(known []string) error {
	faults := strict.Decoder{File: s.File}
	for _, e := range s.engines {
		if !slices.Contains(known, e.name) {
			faults.Unknown(e.at, "engine", e.name, e.where, known)
		}
	}
	return faults.Errs.Sorted()
}
