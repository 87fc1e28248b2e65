// Package engines is the list of all engines, for the command line and for the contract
// of models.
package engines

import (
	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/oraclenosql"
	"github.com/mailbench/mailbench/drivers/pebble"
)

// All returns the engines. A new engine is one line here.
func All() []drivers.Engine {
	return []drivers.Engine{
		pebble.Engine(),
		cassandra.Engine(),
		hbase.Engine(),
		oraclenosql.Engine(),
		null.Engine(),
	}
}
