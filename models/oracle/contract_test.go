package oracle

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

var contract = modeltest.Suite{
	Model:  Model(),
	Traits: modeltest.Traits{Order: modeltest.ByDelivery, WholeRows: true, DeletesIf: true},
	Races: modeltest.Races{
		Always: []modeltest.Anomaly{modeltest.FlagLost},
		Apart:  []modeltest.Anomaly{modeltest.Revived, modeltest.Duplicated, modeltest.BothDone},
	},
	Damages: []modeltest.Damage{
		// On Cassandra puts add to a map, so that nothing can be lost by one (hint puts).
		{
			Name: "attachment cut", Table: "users.folder.message",
			Set:   modeltest.Row{"attachments": drivers.MapOf([]drivers.Value{drivers.Text("f"), drivers.Blob([]byte("x"))})},
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"users.folder.message attachments: 1"},
		},
		{
			Name: "attachments lost", Table: "users.folder.message", Set: modeltest.Row{"attachments": {}},
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"users.folder.message attachments: 1"},
		},
		{
			Name: "message hollow", Table: "users.folder.message", Set: modeltest.Row{"body": {}},
			Want: models.Audit{Messages: -1, Dangling: 1},
		},
		{
			Name: "move cut short", Table: "users.folder.message", Insert: modeltest.ToOther("userID", "folderId"),
			Want: models.Audit{Messages: 1, Duplicated: 1},
		},
		{
			Name: "folder lost", Table: "users.folder", Match: modeltest.Is("folderName", "Work"),
			Want:  models.Audit{Folders: -1, Messages: -2, Dangling: 2},
			Finds: []string{"users.folder.message folder: 2"},
		},
		{
			Name: "user lost", Table: "users", Match: modeltest.Is("emailAddress", "ann@*"),
			Want:  models.Audit{Accounts: -1, Folders: -2, Messages: -4, Unreferenced: 1, Dangling: 4},
			Finds: []string{"users.folder.message user: 4", "users.folder user: 2 left over"},
		},
		{
			Name: "id is no number", Table: "users.folder.message", Insert: modeltest.Moves("messageId", drivers.Text("zz")),
			Want: models.Audit{Messages: -2, BrokenBodies: 1},
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
