// Package workloads is the workload language: YAML that says which mail there
// is, who has it, and which operations run in which phases at which rate. It
// holds the parsed types, the plans and schedules that are functions of
// (seed, n), and the bundled workloads. Package workloads/messages makes messages,
// workloads/random draws random values, and workloads/run runs a workload.
//
//	version: 1
//	name: workday
//	doc: One line for the list of workloads.
//	seed: 1
//	engines:
//	  cassandra: {contact: [10.0.0.1, 10.0.0.2:9042], consistency: LOCAL_QUORUM, timeout: 5s}
//	mail:
//	  body: {lognormal: {median: 6KB, p99: 200KB}}
//	  html: 0.4
//	  attachments: {share: 0.15, count: 1, size: {pareto: {min: 20KB, alpha: 1.2, max: 25MB}}}
//	  recipients: {zipf: {s: 2, max: 20}}
//	population: {users: 1000, folders: 6, messages: {lognormal: {median: 200, p99: 5000}}}
//	keys: {users: zipf, folders: latest, messages: latest, deep: 0.2}
//	phases:
//	  - load: {}
//	  - settle: {}
//	  - warmup: {duration: 5s}
//	  - measure: {duration: 30s, rate: 2000/s, arrivals: poisson, mix: {list: 50, open: 25, deliver: 10, flag: 10, move: 3, delete: 2}}
//	expect: {list.p99: <20ms, errors: <0.1%, lag.p99: <1ms, models: {james: {list.p99: <50ms}}}
//
// "mailbench help workload" is the whole reference; it, the JSON Schema and the decoder
// are made from one table (language.go). The sections below give the reasons.
//
// # Engines
//
// engines says where the nodes of an engine are (contact, a host or host:port
// or a list of them) and which settings of its driver differ from their
// defaults; "mailbench engines NAME" lists those. What it says of engines that
// do not run is not used. Passwords come from the environment and nowhere else.
//
// # Mail and population
//
// mail.body is the size of the text; html is the share of messages that carry
// it as HTML too; attachments says which share has how many (count) of which
// size; recipients is the number of mailboxes that one delivery goes to. A
// size is bytes, with a unit or none (KB = 1000, KiB = 1024). With a mail file
// instead of generated mail only recipients counts.
//
// population.folders is per user, messages per folder; both may be
// distributions, drawn once from the seed. "shared: true" gives all users one
// folder in common, where a delivery to several of them is one message. Package
// random says how distributions are written.
//
// keys says which users, folders and messages operations ask for: uniform,
// zipf or latest (folder 0 is the inbox, message 0 the newest). deep is the
// share of lists that go on behind a message chosen like any other.
//
// # Phases
//
// load comes first and delivers the population's mail in order of arrival,
// users interleaved; its clients are how many loaders there are. settle waits
// until the engine is quiet. cold reopens the store with empty caches. interrupt
// breaks a move and a delete of several messages off after each of their writes, on a
// store of its own, and reports what each leaves. warmup
// runs operations until service times are steady, at most for its
// duration; one with operations runs them all. Mix and pace are those of the
// measure phase that follows unless it has its own. measure runs operations and reports them.
//
// A phase with a rate (2000/s, 90/min) is an open loop: operations are due at
// constant gaps, or as a Poisson process (arrivals: poisson), whether or
// not those before are done. A phase with clients instead is a closed loop.
// workers is how many operations of an open loop may be under way at a time.
// duration or operations bounds a phase. name tells several measure phases apart.
//
// # Expect
//
// expect bounds figures of the measured phases: p50, p90, p99, p99.9, max or mean of
// the response times of everything that was due, the same of service and lag
// (lag.p99), the shares errors, failed, unknown, dropped and not-found, the rate of
// what was ok, and achieved, a share of the offered rate. A figure of one operation
// begins with its name (list.p99), others are of all together. models, engines and phases
// hold bounds for one of them, in place of those for all; streams holds bounds of a stream's
// own figures. A run exits with 3 if it misses a bound or has too few operations to decide.
//
// # Mixes
//
// A phase may run several streams at once, each with a pace and a mix, or a session, of
// its own. All have rates or all have clients. A rate may have a shape ([Shape]):
// operations are then due where its integral comes to 0, 1, 2 …, or at the points
// of a Poisson process on that scale. A session ([Session]) is what one user does in one folder. In an
// open loop its steps are due one think time apart, whether or not the step before is
// done, so that a slow store is not asked for less, and what session n does is a function of
// (seed, n). A phase may replay a trace instead (package replay).
//
// A mix gives each operation a weight; only their ratios count. The operations
// are deliver, list, open, raw, attachment, flag, label, move, delete,
// restore, purge, folders, counters, recount, search-sender, slice, seen,
// subscribe, login, range, expunge, subscriptions, seen-by, search-all, all-mail, totals,
// create-user, join, leave and nested.
//
// An operation that a model lacks is skipped, so that the model's load is lighter
// than that of the others. With "missing: replace-rate" another operation of the mix
// takes its place: the rate is the same for all models, and the mix is not.
//
// Each trial of a run draws other operations and arrivals from the seed, the same
// for all models and engines; the mail that is loaded is the same. trials says how many
// trials there are, and with reuse that later trials use the store of the first.
package workloads
