package results

import _ "embed"

// JSONSchema is the JSON Schema (2020-12) of run.json.
//
//go:embed run.schema.json
var JSONSchema []byte
