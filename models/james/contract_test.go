package james

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

var contract = modeltest.Suite{
	Model:  Model(),
	Traits: modeltest.Traits{Order: modeltest.ByArrival, MoveReads: "chunk"},
	Races: modeltest.Races{Always: []modeltest.Anomaly{
		modeltest.Revived, modeltest.Duplicated, modeltest.FlagLost, modeltest.BothDone,
		modeltest.Failed, modeltest.Dangling, modeltest.CounterDrift,
	}},
	Damages: []modeltest.Damage{
		{
			Name: "chunk lost", Table: "JAMES_MESSAGES.data",
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"JAMES_MESSAGES bytes: 1"},
		},
		{
			Name: "chunk changed", Table: "JAMES_MESSAGES.data", Set: modeltest.Row{"data": drivers.Blob([]byte("x"))},
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"JAMES_MESSAGES bytes: 1"},
		},
		{
			Name: "chunk left over", Table: "JAMES_MESSAGES.data", Insert: modeltest.Moves("chunk", drivers.Bigint(99)),
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"JAMES_MESSAGES bytes: 1"},
		},
		{
			Name: "body left over", Table: "JAMES_MESSAGES.data", Insert: modeltest.Moves("uid", drivers.Bigint(999)),
			Want:  models.Audit{Unreferenced: 1},
			Finds: []string{"JAMES_MESSAGES.data metadata: 1 left over"},
		},
		{
			Name: "metadata lost", Table: "JAMES_MESSAGES",
			Want:  models.Audit{Messages: -1, Unreferenced: 1, CounterDrift: 1},
			Finds: []string{"JAMES_MAILBOXES messages: 1", "JAMES_MESSAGES.data metadata: 6 left over"},
		},
		{
			Name: "metadata hollow", Table: "JAMES_MESSAGES", Set: modeltest.Row{"size": {}},
			Want:  models.Audit{Messages: -1, Dangling: 1, Unreferenced: 1, BrokenBodies: 1, CounterDrift: 1},
			Finds: []string{"JAMES_MAILBOXES messages: 1", "JAMES_MESSAGES bytes: 1", "JAMES_MESSAGES.data metadata: 6 left over"},
		},
		{
			Name: "metadata broken", Table: "JAMES_MESSAGES", Set: modeltest.Row{"chunk_size": drivers.Int(999)},
			Want: models.Audit{BrokenBodies: 1},
		},
		{
			Name: "properties broken", Table: "JAMES_MESSAGES", Set: modeltest.Row{"properties": drivers.Blob([]byte("x"))},
			Want: models.Audit{BrokenBodies: 1},
		},
		{
			Name: "chunk lost of a message as the source design has it", Table: "JAMES_MESSAGES",
			Set: modeltest.Row{"properties": {}, "chunk_size": {}, "size": drivers.Bigint(1)}, Want: models.Audit{BrokenBodies: 1},
			Finds: []string{"JAMES_MESSAGES bytes: 1"},
		},
		{
			Name: "none: as the source design has it", Table: "JAMES_MESSAGES", Set: modeltest.Row{"properties": {}, "chunk_size": {}},
		},
		{
			Name: "mailbox lost", Table: "JAMES_MAILBOXES", Match: modeltest.Is("name", "Work"),
			Want:  models.Audit{Folders: -1, Messages: -2, Dangling: 2, Unreferenced: 1},
			Finds: []string{"JAMES_MESSAGES mailbox: 2", "JAMES_MAILBOX_NAMES mailbox: 1 left over"},
		},
		{
			Name: "name lost", Table: "JAMES_MAILBOX_NAMES", Match: modeltest.Is("name", "Work"),
			Want:  models.Audit{Dangling: 1},
			Finds: []string{"JAMES_MAILBOXES name: 1"},
		},
		{
			Name: "address not claimed", Table: "JAMES_MAILBOX_NAMES", Match: modeltest.Is("name", ""),
			Want:  models.Audit{Dangling: 2},
			Finds: []string{"JAMES_MAILBOXES account: 2"},
		},
		{
			Name: "count wrong", Table: "JAMES_MAILBOXES", Add: map[string]int64{"message_count": 3},
			Want:  models.Audit{CounterDrift: 3},
			Finds: []string{"JAMES_MAILBOXES messages: 1"},
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
