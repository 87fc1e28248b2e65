package schemas

import "github.com/mailbench/mailbench/schemas/strict"

// What is wrong with a schema file, and where.
type (
	Pos    = strict.Pos
	Error  = strict.Error
	Errors = strict.Errors
)
