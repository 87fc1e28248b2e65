// Package lint checks a schema before there is any data: every access pattern
// against its table, every table against its patterns, and both against what the
// engines do. With the numbers of a workload it also checks sizes.
//
//	report, err := lint.Check(schema, lint.Options{Engines: []string{"cassandra"}})
//
// [Rules] lists all rules. Each has an id, a severity, documentation, the source of
// its facts and figures, and what to do about a finding. A table or pattern accepts
// findings of a rule, with the reason:
//
//	patterns:
//	  folders: {scan: mailboxes, filter: user,
//	            accept: {scan-filter: the source design finds the folders of a user by a scan}}
//
// An accepted finding is still returned, with its reason. Check refuses an acceptance
// of an unknown rule. An acceptance that matches no finding is a finding itself.
//
// Rules judge by what a schema says. The rows of a table say whether messages gather in
// a partition and what a column holds. Without them, rules assume that a clustering
// column of type timeuuid, timestamp or bigint gets a new value for each message (a uuid
// only if the table has a time), and that others name folders or flags. What a key column is for
// (bucket, chunk, salt) they guess by its name and type, unless the table says it; the
// report names each [Guess], and says of each pattern in an [Answer] how many
// partitions answer it, in which order, and what bounds it. The sizes that [Numbers]
// hold come from a forecast; without them, rules about sizes do not run. What engines
// cannot run, and how large rows become, their drivers say ([Facts]).
package lint
