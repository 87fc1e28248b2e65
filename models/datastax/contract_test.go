package datastax

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

var contract = modeltest.Suite{
	Model:  Model(),
	Traits: modeltest.Traits{Order: modeltest.ByDelivery, KeepsBodies: true},
	Races: modeltest.Races{Always: []modeltest.Anomaly{
		modeltest.Revived, modeltest.Duplicated, modeltest.FlagLost, modeltest.BothDone,
		modeltest.CounterDrift,
	}},
	Damages: []modeltest.Damage{
		{
			Name: "folder lost", Table: "folders_by_user", Match: modeltest.Is("label", "Work"),
			Want:  models.Audit{Folders: -1, Messages: -2, Dangling: 1},
			Finds: []string{"folder_sizes folder: 1"},
		},
		{
			Name: "chunk lost", Table: "attachments",
			Want:  models.Audit{BrokenBodies: 2},
			Finds: []string{"emails attachments: 1"},
		},
		{
			Name: "chunk changed", Table: "attachments", Set: modeltest.Row{"bytes": drivers.Blob([]byte("x"))},
			Want:  models.Audit{BrokenBodies: 2},
			Finds: []string{"emails attachments: 1"},
		},
		{
			Name: "chunk left over", Table: "attachments", Insert: modeltest.Moves("chunk_number", drivers.Int(99)),
			Want:  models.Audit{BrokenBodies: 1},
			Finds: []string{"emails attachments: 1"},
		},
		{
			Name: "attachment left over", Table: "attachments",
			Match:  func(r modeltest.Row) bool { return r["chunk_number"].Int64() == 0 },
			Insert: modeltest.Moves("filename", drivers.Text("g")), Want: models.Audit{Unreferenced: 1},
			Finds: []string{"attachments email: 1 left over"},
		},
		{
			Name: "email lost", Table: "emails",
			Want:  models.Audit{Messages: -2, Dangling: 2, Unreferenced: 1},
			Finds: []string{"emails_by_user_folder email: 2", "attachments email: 4 left over"},
		},
		{Name: "body changed", Table: "emails", Set: modeltest.Row{"body": drivers.Text("=?base64?-")}, Want: models.Audit{BrokenBodies: 2}},
		{Name: "body lost", Table: "emails", Set: modeltest.Row{"body": {}}, Want: models.Audit{Messages: -2, Dangling: 2}},
		{
			Name: "label row lost", Table: "emails_by_user_folder", Match: unread,
			Want:  models.Audit{Messages: -1, CounterDrift: 2},
			Finds: []string{"unread_email_stats unread: 1"},
		},
		{
			Name: "label row to nothing", Table: "emails_by_user_folder", Match: unread,
			Insert: modeltest.Moves("id", drivers.TimeUUID(modeltest.Elsewhere)),
			Want:   models.Audit{Dangling: 1, CounterDrift: 1},
			Finds:  []string{"unread_email_stats unread: 1", "emails_by_user_folder email: 1"},
		},
		{
			Name: "shown by two labels of a folder", Table: "emails_by_user_folder", Match: unread,
			Insert: func(r modeltest.Row, _ []modeltest.Row) { r["label"] = drivers.Text(r["label"].Str() + "-overflow-1") },
			Want:   models.Audit{CounterDrift: 1},
			Finds:  []string{"unread_email_stats unread: 1"},
		},
		{
			Name: "unread counter wrong", Table: "unread_email_stats", Add: map[string]int64{"num_unread": 3},
			Want:  models.Audit{CounterDrift: 3},
			Finds: []string{"unread_email_stats unread: 1"},
		},
		{
			Name: "size wrong", Table: "folder_sizes", Add: map[string]int64{"messages": -3},
			Want: models.Audit{CounterDrift: 3},
		},
	},
}

func unread(r modeltest.Row) bool { return !r["is_read"].Bool() }

func TestContract(t *testing.T)             { contract.Run(t) }
func TestContractVariants(t *testing.T)     { contract.RunVariants(t) }
func TestContractVariantsLive(t *testing.T) { contract.RunVariantsLive(t) }
func TestContractConcurrent(t *testing.T)   { contract.RunConcurrent(t) }
func TestContractLive(t *testing.T)         { contract.RunLive(t) }
func TestContractQuorum(t *testing.T)       { contract.RunQuorum(t) }
func BenchmarkContract(b *testing.B)        { contract.Bench(b) }
