// Package glossary says what the operations and the columns of results mean.
package glossary

// Term is a word and what it means.
type Term struct{ Word, Meaning string }

// Operations are the mail operations that a workload can name.
func Operations() []Term {
	return []Term{
		{"deliver", "store a message, once in the folder of each recipient, with its index entries and counters"},
		{
			"list",
			"the first page of a folder: 25 messages, newest first, with sender, subject, date, size and whether they were read",
		},
		{"open", "metadata and text body of one message"},
		{"raw", "the whole message as it was delivered, as a stream"},
		{"attachment", "one attachment, decoded, as a stream"},
		{"flag", "set or clear a flag of one message, with the counters that depend on it"},
		{"label", "show a message in another folder as well, or no longer there"},
		{"move", "move a message to another folder of the account"},
		{"delete", "remove a message from its folder"},
		{"restore", "bring a deleted message back"},
		{"purge", "remove for good what was deleted some time ago"},
		{"folders", "the account's folders with the numbers that the model keeps of them"},
		{"counters", "how many messages of a folder there are and how many are unread"},
		{"recount", "count a folder's messages anew and mend its counters"},
		{"search-sender", "messages of a folder from one sender"},
		{"slice", "messages of a folder from a span of time"},
		{"seen", "note that a user has seen a message"},
		{"subscribe", "subscribe to a folder, or end that"},
		{"login", "the account of an address with its folders"},
		{"range", "a part of the message as it was delivered: the first 64 KiB, or as the workload says"},
		{"expunge", "remove the messages of a range of UIDs"},
		{"subscriptions", "the folders to which an account has subscribed"},
		{"seen-by", "who has seen a message, in the order of their views"},
		{"search-all", "messages from one sender in all folders of all accounts"},
		{"all-mail", "the newest page of all mail of an account"},
		{"totals", "messages, unread ones and bytes of an account"},
		{"create-user", "a new account with its folders"},
		{"join", "a new account joins a folder that others share"},
		{"leave", "an account that joined a folder leaves it"},
		{"nested", "all folders of an account with all messages, in one call where the engine can"},
	}
}

// Columns are the columns and words of tables.
func Columns() []Term {
	return []Term{
		{
			"calls",
			"requests that go to the engine for one operation, without retries. It is counted, and does not depend on the machine",
		},
		{
			"rows e/r/w", "rows examined, returned and written for one operation. The engine examined rows and index entries, whether " +
				"it returned them or not. ~ is the mean of a few operations that were traced after the phase; ? is not known",
		},
		{"retries", "further attempts of requests, because a node refused them or others changed the same row. They depend on the machine"},
		{"throttled", "requests that the engine refused because the client may not ask for so much in a time. The driver waited, and sent " +
			"them again"},
		{"bytes r/w", "bytes of the columns read and of the values written for one operation. A KB is 1000 bytes"},
		{"response", "from the time an operation was due to its end: what a user waits. It is reported of open loops"},
		{"service", "from an operation's start to its end. It is reported of closed loops and of loads"},
		{"lag", "from the time an operation was due to its start"},
		{"p50 … p99.9", "percentiles: this part of the operations that were ok took at most that long. A dash: too " +
			"few operations to tell"},
		{"max", "the slowest operation that was ok"},
		{"of all due", "percentiles of everything that was due, also of what failed or was dropped"},
		{"ok", "operations that succeeded; only they are in the latencies"},
		{"failed", "operations that are known not to be applied"},
		{"unknown", "operations that timed out: they may be applied or not"},
		{"not found", "operations that did not find what they asked for"},
		{"dropped", "operations that were due and never started, because they would have started too late"},
		{"too large", "messages larger than the engine takes"},
		{"rate/s", "operations that were ok a second"},
		{"own", "what mailbench and the model cost by themselves, measured over an engine that does nothing. It is part of " +
			"the service time"},
		{"n/a", "the model does not offer the operation"},
		{"emulated", "the engine lacks what the pattern needs, and the fallback that the schema declares ran in its place"},
		{"1.0× ≈ ?", "how a figure compares with the best: it is the best; it differs by less than a tenth, by how much " +
			"cannot be told; it cannot be told apart"},
		{"‡", "a time whose durability is not that of the first column. It is ranked with its like only"},
		{"! † ~", "the verdict of the model is not ok; the client's own delays changed the percentile; the mean of a few traced operations"},
		{
			"mix", "1000 operations of those that all models offer, each as often as in the workload. Beside it: how many operations a " +
				"model lacks, how many have a pattern that schema lint calls an error, at how many it is best and worst",
		},
		{"stored", "bytes that a message takes in the engine's files at rest, without the log; ÷mail: for a byte of the mail"},
		{"cpu", "processor time of the client for 1000 operations that it carried out; that of an embedded engine is in it"},
		{"* ^ °", "marks of the overview: the operation is emulated; schema lint calls one of its patterns an error; its answer lacks fields"},
		{"lacks", "fields of a listing that the model's row does not hold"},
		{"open loop", "operations are due at times that do not depend on how fast the engine answers"},
		{"closed loop", "a number of clients, each of which starts its next operation when the one before has ended"},
		{"durability", "what an acknowledged write survives: memory (nothing), process (the end of the process), power (a " +
			"power cut), quorum (the loss of a replica)"},
		{"regime", "the size of the data on disk in comparison with the engine's cache. A store that fits its cache tells nothing " +
			"about one that does not"},
		{"cell", "one phase of one model on one engine in one trial"},
	}
}
