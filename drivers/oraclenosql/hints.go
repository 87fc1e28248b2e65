package oraclenosql

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/schemas"
)

// The hint puts, if json, says that a row is put as a client does that has JSON: the row is written as
// JSON text, which the SDK makes a row of again. What the server gets is the same.
const (
	putsHint = "puts"
	asJSON   = "json"
)

// checkHints refuses hints of a table that the driver does not know. Text is the same in JSON; values of
// other types would become others.
func checkHints(t *schemas.Table) error {
	for name, value := range t.Hints[engineName] {
		if name != putsHint || value != asJSON {
			return fmt.Errorf("table %s: hint %s: %s: this engine knows only puts: json", t.Name, name, value)
		}
		for _, c := range slices.Concat(t.Key(), t.Columns) {
			if c.Type.Kind != schemas.Text {
				return fmt.Errorf("table %s: hint puts: json is for tables of text; column %s is a %s", t.Name, c.Name, c.Type)
			}
		}
	}
	return nil
}

// putsJSON reports whether rows of the table are put as JSON.
func (t *table) putsJSON() bool { return t.of.Hints[engineName][putsHint] == asJSON }

// throughJSON returns the row that the SDK makes of a row's JSON.
func throughJSON(row *types.MapValue) (*types.MapValue, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("write the row as JSON: %w", err)
	}
	return types.NewMapValueFromJSON(string(text))
}
