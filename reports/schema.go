package reports

import _ "embed"

// Schema is the JSON Schema (2020-12) of run.json.
//
//go:embed run.schema.json
var Schema []byte
