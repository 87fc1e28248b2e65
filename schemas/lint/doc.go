// Package lint checks a schema before there is any data: every access pattern
// against its table, every table against its patterns, and both against what the
// engines do. With the numbers of a workload it also checks sizes.
//
//	report, err := lint.Check(schema, lint.Options{Engines: []string{"cassandra"}})
//
// [Rules] lists all rules. Each has an id, a severity, documentation, the source of
// its facts and figures, and what to do about a finding. A schema accepts a finding
// where it stands, with the reason:
//
//	patterns:
//	  folders: {scan: mailboxes, filter: user,
//	            accept: {scan-filter: the document finds the folders of a user by a scan}}
//
// An accepted finding is still returned, with its reason. Check refuses an acceptance
// of an unknown rule. An acceptance that matches no finding is a finding itself.
//
// Rules judge by what a schema says. A clustering column of type timeuuid, timestamp,
// uuid or bigint is taken to get a new value for each message, so that its partition
// grows; text, int and boolean columns are taken to name folders, chunks or flags.
package lint
