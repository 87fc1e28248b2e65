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
		{"purge", "remove messages permanently that were deleted some time ago"},
		{"folders", "the folders of an account with the folder counters that the model stores"},
		{"counters", "how many messages of a folder there are and how many are unread"},
		{"recount", "count the messages of a folder again and repair its counters"},
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

// Columns are the columns and words of reports.
func Columns() []Term {
	return []Term{
		{"latency", "from the scheduled start of an operation to its end, without client delay: waiting for a slow " +
			"engine is included. In a closed loop: from start to end"},
		{"typical", "mean p50 of the operations, each weighted by its share of the load; the median of the trials"},
		{"mean, p99 of the whole load", "of all operations that all models support, each weighted by its share; the median of the trials"},
		{"p50 … p99.9", "percentiles: this part of the operations that succeeded took at most that long. A dash: too few " +
			"operations for it"},
		{"max", "the slowest operation that succeeded"},
		{"significant", "a difference of more than 5% whose 95% interval, over the ratios of the trials, excludes no difference"},
		{"requests", "requests that the driver sent to the engine for one operation, without retries. Counters do not depend on the machine"},
		{"rows scanned", "rows and index entries that the engine read for one operation, returned or not. ~ is the mean of a few " +
			"operations that were traced after the phase; a dash is not reported"},
		{"rows returned", "rows that the engine sent to the client for one operation"},
		{"read amplification", "rows scanned ÷ rows returned"},
		{"KB read, KB written", "bytes of the columns returned and of the values written for one operation. 1 KB is 1,000 bytes"},
		{"disk per message", "bytes of the engine's files after load and compaction, without the log, divided by messages"},
		{"max ops/s", "operations per second of the phase throughput, in which a client starts its next operation immediately"},
		{"response time", "from the scheduled start to the end, with client delay"},
		{"service time", "from the call of an operation to its end"},
		{"wait time", "from the scheduled start to the call"},
		{"of all scheduled", "percentiles of all scheduled operations, also of those that failed or were dropped"},
		{"ok", "operations that succeeded; only they are in the latencies"},
		{"failed", "operations that are known not to be applied"},
		{"unknown", "operations that timed out: they may be applied or not"},
		{"not found", "operations that did not find their message or folder"},
		{"dropped", "scheduled operations that never started, because they would have started too late"},
		{"too large", "messages larger than the engine accepts"},
		{"retries", "repeated requests, because a node rejected them or another client changed the same row. They depend on the machine"},
		{"throttled", "requests that the engine rejected because of a rate limit. The driver waited, and sent them again"},
		{"client overhead", "time of mailbench and the model over an engine that does nothing. It is part of the service time"},
		{"fallback pattern", "the engine cannot run an access pattern, and the fallback that the schema declares ran instead"},
		{"omits fields", "fields of a listing that the model's row does not contain, so it has less to read"},
		{"no column better than", "the other model is as good or better in every column of the whole load, and better in at least one"},
		{"open loop", "operations are scheduled at times that do not depend on how fast the engine answers"},
		{"closed loop", "a number of clients, each of which starts its next operation when the one before has ended"},
		{"durability", "the failure that an acknowledged write survives: memory (none), process (the end of the process), power (a " +
			"power cut), quorum (the loss of a replica)"},
		{"data-to-cache ratio", "the size of the data on disk divided by the engine's cache. Values of a store that fits its cache say " +
			"nothing about one that does not"},
	}
}
