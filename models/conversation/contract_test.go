package conversation

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

var contract = modeltest.Suite{
	Model:  Model(),
	Traits: modeltest.Traits{Order: modeltest.ByDelivery, WholeRows: true},
	Races: modeltest.Races{Always: []modeltest.Anomaly{
		modeltest.Revived, modeltest.Duplicated, modeltest.FlagLost, modeltest.BothDone,
		modeltest.Dangling,
	}},
	Damages: []modeltest.Damage{
		{
			Name: "attachments lost", Table: "messages", Set: modeltest.Row{"attachments": {}},
			Want: models.Audit{BrokenBodies: 1},
		},
		{
			Name: "attachment cut", Table: "messages",
			Set:  modeltest.Row{"attachments": drivers.MapOf([]drivers.Value{drivers.Text("f"), drivers.Text("x")})},
			Want: models.Audit{BrokenBodies: 1},
		},
		{
			Name: "message hollow", Table: "messages", Set: modeltest.Row{"content": {}},
			Want: models.Audit{Messages: -1, Dangling: 1},
		},
		{
			Name: "move cut short", Table: "messages", Insert: modeltest.ToOther("", "conversation_id"),
			Want: models.Audit{Messages: 1, Duplicated: 1},
		},
		{
			Name: "conversation lost", Table: "conversations_by_user", Match: modeltest.Is("name", "Work"),
			Want:  models.Audit{Folders: -1, Messages: -2, Dangling: 2},
			Finds: []string{"messages conversation: 2"},
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
