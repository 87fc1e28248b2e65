package workloads

// Op is a mail operation that a mix can name.
type Op uint8

// The operations.
const (
	Deliver Op = iota
	List
	Open
	Raw
	Attachment
	Flag
	Label
	Move
	Delete
	Restore
	Purge
	Folders
	Counters
	Recount
	SearchSender
	Slice
	Seen
	Subscribe
	Login
	Range
	Expunge
	Subscriptions
	SeenBy
	SearchAll
	AllMail
	Totals
	CreateUser
	Join
	Leave
	Nested
	NumOps int = iota
)

var opNames = [NumOps]string{
	"deliver", "list", "open", "raw", "attachment", "flag", "label", "move",
	"delete", "restore", "purge", "folders", "counters", "recount",
	"search-sender", "slice", "seen", "subscribe", "login",
	"range", "expunge", "subscriptions", "seen-by", "search-all", "all-mail", "totals", "create-user",
	"join", "leave", "nested",
}

// String returns the operation's name in workloads and results.
func (o Op) String() string { return opNames[o] }

// changing are the operations that change what is stored.
const changing = 1<<Deliver | 1<<Flag | 1<<Label | 1<<Move | 1<<Delete | 1<<Restore | 1<<Purge | 1<<Recount |
	1<<Subscribe | 1<<Expunge | 1<<CreateUser | 1<<Join | 1<<Leave

// Changes reports whether the operation changes what is stored.
func (o Op) Changes() bool { return changing>>o&1 == 1 }

// OpNames returns the names of all operations.
func OpNames() []string { return opNames[:] }

// ParseOp returns the operation of that name.
func ParseOp(name string) (Op, bool) {
	for i, n := range opNames {
		if n == name {
			return Op(i), true
		}
	}
	return 0, false
}
