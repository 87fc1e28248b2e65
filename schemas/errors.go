package schemas

import "github.com/mailbench/mailbench/schemas/strict"

// Errors of a schema file, each with its place in the file.
type (
	Pos    = strict.Pos
	Error  = strict.Error
	Errors = strict.Errors
)
