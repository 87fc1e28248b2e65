package elasticinbox

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

var contract = modeltest.Suite{
	Model:  Model(),
	Traits: modeltest.Traits{Order: modeltest.ByDate, OneMessage: true},
	Races: modeltest.Races{Always: []modeltest.Anomaly{
		modeltest.Duplicated, modeltest.BothDone, modeltest.Dangling, modeltest.CounterDrift,
	}},
	Damages: []modeltest.Damage{
		{
			Name: "block lost", Table: "MessageBlob",
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"MessageMetadata.columns size: 1"},
		},
		{
			Name: "block changed", Table: "MessageBlob", Set: modeltest.Row{"data": drivers.Blob([]byte("x"))},
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"MessageMetadata.columns size: 1"},
		},
		{
			Name: "block of other bytes", Table: "MessageBlob",
			Match: func(r modeltest.Row) bool { return len(r["data"].Raw()) == 1000 },
			Set:   modeltest.Row{"data": drivers.Blob(make([]byte, 1000))}, Want: models.Audit{BrokenBodies: 1},
		},
		{
			Name: "block left over", Table: "MessageBlob", Insert: modeltest.Moves("block", drivers.Int(99)),
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"MessageMetadata.columns size: 1"},
		},
		{
			Name: "body left over", Table: "MessageBlob", Match: func(r modeltest.Row) bool { return r["block"].Int64() == 0 },
			Insert: modeltest.Moves("message", drivers.TimeUUID(modeltest.Elsewhere)), Want: models.Audit{Unreferenced: 1},
			Finds: []string{"MessageBlob metadata: 1 left over"},
		},
		{
			Name: "index entry lost", Table: "IndexLabels", Match: modeltest.Is("key", "ann@*:1"),
			Want:  models.Audit{Messages: -1, Dangling: 1, CounterDrift: 2},
			Finds: []string{"Counters messages: 1"},
		},
		{
			Name: "index entry to nothing", Table: "IndexLabels", Match: modeltest.Is("key", "ann@*:1"),
			Insert: modeltest.Moves("id", drivers.TimeUUID(modeltest.Elsewhere)), Want: models.Audit{Dangling: 1, CounterDrift: 1},
			Finds: []string{"IndexLabels message: 1", "Counters messages: 1"},
		},
		{
			Name: "label lost", Table: "MessageMetadata.columns", Match: modeltest.Is("name", "l:1"),
			Want:  models.Audit{Messages: -1, Dangling: 1, CounterDrift: 2},
			Finds: []string{"IndexLabels message: 1"},
		},
		{
			Name: "entry of all mail lost", Table: "IndexLabels", Match: modeltest.Is("key", "ann@*:0"),
			Want:  models.Audit{Dangling: 1, CounterDrift: 5377},
			Finds: []string{"Counters messages: 1"},
		},
		{
			Name: "header lost", Table: "MessageMetadata.columns", Match: modeltest.Is("name", "subject"),
			Want: models.Audit{BrokenBodies: 1},
		},
		{
			Name: "parts broken", Table: "MessageMetadata.columns", Match: modeltest.Is("name", "parts"),
			Set: modeltest.Row{"value": drivers.Blob([]byte("x"))}, Want: models.Audit{BrokenBodies: 1},
		},
		{Name: "none: as the source design has it", Table: "MessageMetadata.columns", Match: modeltest.Is("name", "parts")},
		{
			Name: "address not claimed", Table: "Accounts", Match: modeltest.Is("name", "label:0"),
			Want:  models.Audit{Dangling: 15},
			Finds: []string{"MessageMetadata.columns account: 4", "IndexLabels label: 4", "Counters label: 3"},
		},
		{
			Name: "size is no number", Table: "MessageMetadata.columns", Match: modeltest.Is("name", "size"),
			Set: modeltest.Row{"value": drivers.Blob([]byte{0xff})}, Want: models.Audit{Messages: -2, BrokenBodies: 1},
			Finds: []string{"MessageMetadata.columns size: 1"},
		},
		{
			Name: "location is empty", Table: "MessageMetadata.columns", Match: modeltest.Is("name", "location"),
			Set: modeltest.Row{"value": drivers.Blob(nil)}, Want: models.Audit{Messages: -2, Unreferenced: 1, BrokenBodies: 1},
			Finds: []string{"MessageBlob metadata: 6 left over"},
		},
		{
			Name: "label is no number", Table: "Accounts", Match: modeltest.Is("name", "label:1"),
			Insert: modeltest.Moves("name", drivers.Text("label:x")), Want: models.Audit{Accounts: -1, Folders: -2, Messages: -4, BrokenBodies: 1},
		},
		{
			Name: "counter of no label", Table: "Counters", Add: map[string]int64{"value": 2}, Row: modeltest.Moves("id", drivers.Text("x")),
			Want: models.Audit{Dangling: 1}, Finds: []string{"Counters label: 1"},
		},
		{
			Name: "every counter wrong", Table: "Counters", Every: true, Add: map[string]int64{"value": 3},
			Want:  models.Audit{CounterDrift: 36},
			Finds: []string{"Counters messages: 5"},
		},
	},
}

func TestContract(t *testing.T)             { contract.Run(t) }
func TestContractVariants(t *testing.T)     { contract.RunVariants(t) }
func TestContractVariantsLive(t *testing.T) { contract.RunVariantsLive(t) }
func TestContractConcurrent(t *testing.T)   { contract.RunConcurrent(t) }
func TestContractLive(t *testing.T)         { contract.RunLive(t) }
func TestContractQuorum(t *testing.T)       { contract.RunQuorum(t) }
func BenchmarkContract(b *testing.B)        { contract.Bench(b) }

// inFiles are parameters with which all bodies are files.
var inFiles = map[string]int{"blob_store": inDatabase + 1, "blob_threshold": 1}

func TestOutside(t *testing.T)     { contract.RunValues(t, inFiles) }
func TestOutsideLive(t *testing.T) { contract.RunValuesLive(t, inFiles) }
