package modeltest

import (
	"path"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// elsewhere is an id that leads to nothing.
var elsewhere = [16]byte{0xde, 0xad, 0xbe, 0xef, 0, 0, 0x10, 0, 0x80, 1}

// is matches rows by the text in one column; a * in it stands for any text.
func is(column, text string) func(row) bool {
	return func(r row) bool {
		ok, err := path.Match(text, r[column].Str())
		return ok && err == nil
	}
}

// moves makes a copy of a row whose key differs in one column.
func moves(column string, to drivers.Value) func(row, []row) {
	return func(r row, _ []row) { r[column] = to }
}

// damages are what each model's audit must find. In testDamage's store, ann
// has two messages in her INBOX, of which the newest was read, and two in Work;
// bob has all four in his INBOX.
func damages(model string) []damage {
	switch model {
	case "elasticinbox":
		return []damage{
			{name: "block lost", table: "MessageBlob", want: models.Audit{BrokenBodies: 1}},
			{name: "block changed", table: "MessageBlob", set: row{"data": drivers.Blob([]byte("x"))}, want: models.Audit{BrokenBodies: 1}},
			{name: "block left over", table: "MessageBlob", insert: moves("block", drivers.Int(99)), want: models.Audit{BrokenBodies: 1}},
			{
				name: "body left over", table: "MessageBlob", match: func(r row) bool { return r["block"].Int64() == 0 },
				insert: moves("message", drivers.TimeUUID(elsewhere)), want: models.Audit{Unreferenced: 1},
			},
			{
				name: "index entry lost", table: "IndexLabels", match: is("key", "ann@*:1"),
				want: models.Audit{Messages: -1, Dangling: 1, CounterDrift: 2},
			},
			{
				name: "index entry to nothing", table: "IndexLabels", match: is("key", "ann@*:1"),
				insert: moves("id", drivers.TimeUUID(elsewhere)), want: models.Audit{Dangling: 1},
			},
			{
				name: "label lost", table: "MessageMetadata.columns", match: is("name", "l:1"),
				want: models.Audit{Messages: -1, Dangling: 1, CounterDrift: 2},
			},
			{name: "counter wrong", table: "Counters", add: map[string]int64{"value": 3}, want: models.Audit{CounterDrift: 3}},
		}
	case "james":
		return []damage{
			{name: "chunk lost", table: "JAMES_MESSAGES.data", want: models.Audit{BrokenBodies: 1}},
			{name: "chunk changed", table: "JAMES_MESSAGES.data", set: row{"data": drivers.Blob([]byte("x"))}, want: models.Audit{BrokenBodies: 1}},
			{name: "chunk left over", table: "JAMES_MESSAGES.data", insert: moves("chunk", drivers.Bigint(99)), want: models.Audit{BrokenBodies: 1}},
			{name: "body left over", table: "JAMES_MESSAGES.data", insert: moves("uid", drivers.Bigint(999)), want: models.Audit{Unreferenced: 1}},
			{name: "metadata lost", table: "JAMES_MESSAGES", want: models.Audit{Messages: -1, Unreferenced: 1, CounterDrift: 1}},
			{
				name: "metadata hollow", table: "JAMES_MESSAGES", set: row{"size": {}},
				want: models.Audit{Messages: -1, Dangling: 1, Unreferenced: 1, CounterDrift: 1},
			},
			{name: "metadata broken", table: "JAMES_MESSAGES", set: row{"chunk_size": {}}, want: models.Audit{BrokenBodies: 1}},
			{
				name: "mailbox lost", table: "JAMES_MAILBOXES", match: is("name", "Work"),
				want: models.Audit{Folders: -1, Messages: -2, Unreferenced: 2, Dangling: 1},
			},
			{name: "count wrong", table: "JAMES_MAILBOXES", add: map[string]int64{"message_count": 3}, want: models.Audit{CounterDrift: 3}},
		}
	case "datastax":
		unread := func(r row) bool { return !r["is_read"].Bool() }
		return []damage{
			{name: "chunk lost", table: "attachments", want: models.Audit{BrokenBodies: 1}},
			{name: "chunk changed", table: "attachments", set: row{"bytes": drivers.Blob([]byte("x"))}, want: models.Audit{BrokenBodies: 1}},
			{name: "chunk left over", table: "attachments", insert: moves("chunk_number", drivers.Int(99)), want: models.Audit{BrokenBodies: 1}},
			{
				name: "attachment left over", table: "attachments", match: func(r row) bool { return r["chunk_number"].Int64() == 0 },
				insert: moves("filename", drivers.Text("g")), want: models.Audit{Unreferenced: 1},
			},
			{name: "email lost", table: "emails", want: models.Audit{Messages: -2, Dangling: 2, Unreferenced: 1}},
			{name: "body lost", table: "emails", set: row{"body": {}}, want: models.Audit{BrokenBodies: 1}},
			{name: "label row lost", table: "emails_by_user_folder", match: unread, want: models.Audit{Messages: -1, CounterDrift: 2}},
			{
				name: "label row to nothing", table: "emails_by_user_folder", match: unread,
				insert: moves("id", drivers.TimeUUID(elsewhere)), want: models.Audit{Dangling: 1, CounterDrift: 2},
			},
			{
				name: "shown by two labels of a folder", table: "emails_by_user_folder", match: unread,
				insert: func(r row, _ []row) { r["label"] = drivers.Text(r["label"].Str() + "-overflow-1") },
				want:   models.Audit{Messages: 1, Duplicated: 1, CounterDrift: 2},
			},
			{name: "unread counter wrong", table: "unread_email_stats", add: map[string]int64{"num_unread": 3}, want: models.Audit{CounterDrift: 3}},
			{name: "size wrong", table: "folder_sizes", add: map[string]int64{"messages": -3}, want: models.Audit{CounterDrift: 3}},
		}
	case "oracle":
		return []damage{
			{name: "attachments lost", table: "users.folder.message", set: row{"attachments": {}}, want: models.Audit{BrokenBodies: 1}},
			{
				name: "attachment cut", table: "users.folder.message",
				set:  row{"attachments": drivers.MapOf([]drivers.Value{drivers.Text("f"), drivers.Blob([]byte("x"))})},
				want: models.Audit{BrokenBodies: 1},
			},
			{name: "message hollow", table: "users.folder.message", set: row{"body": {}}, want: models.Audit{Messages: -1, Dangling: 1}},
			{
				name: "move cut short", table: "users.folder.message", insert: toOther("userID", "folderId"),
				want: models.Audit{Messages: 1, Duplicated: 1},
			},
			{
				name: "folder lost", table: "users.folder", match: is("folderName", "Work"),
				want: models.Audit{Folders: -1, Messages: -2, Unreferenced: 2},
			},
			{
				name: "user lost", table: "users", match: is("emailAddress", "ann@*"),
				want: models.Audit{Accounts: -1, Folders: -2, Messages: -4, Unreferenced: 6},
			},
		}
	case "conversation":
		return []damage{
			{name: "attachments lost", table: "messages", set: row{"attachments": {}}, want: models.Audit{BrokenBodies: 1}},
			{
				name: "attachment cut", table: "messages",
				set:  row{"attachments": drivers.MapOf([]drivers.Value{drivers.Text("f"), drivers.Text("x")})},
				want: models.Audit{BrokenBodies: 1},
			},
			{name: "message hollow", table: "messages", set: row{"content": {}}, want: models.Audit{Messages: -1, Dangling: 1}},
			{name: "move cut short", table: "messages", insert: toOther("", "conversation_id"), want: models.Audit{Messages: 1, Duplicated: 1}},
			{
				name: "conversation lost", table: "conversations_by_user", match: is("name", "Work"),
				want: models.Audit{Folders: -1, Messages: -2, Unreferenced: 2},
			},
		}
	}
	return nil
}

// toOther makes a copy of a row whose key has another row's value in one
// column: of a row that has the same owner, if an owner column is named.
func toOther(owner, column string) func(row, []row) {
	return func(r row, rows []row) {
		for _, x := range rows {
			if (owner == "" || x[owner].Equal(r[owner])) && !x[column].Equal(r[column]) {
				r[column] = x[column]
				return
			}
		}
	}
}
