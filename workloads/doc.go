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
// "mailbench help workload" is the whole reference. It, the JSON Schema, completion, --set and the
// decoder walk the tags of the types that hold a workload ([Workload], [Phase], [How]), which say
// what each key means.
//
// A phase with a rate is an open loop: operations are due at constant gaps, or as a Poisson process, whether
// or not those before are done. With a shape ([Shape]) they are due where its integral comes to 0, 1, 2 …, or at
// the points of a Poisson process on that scale. A phase with clients is a closed loop. In an open loop the steps
// of a session ([Session]) are due one think time apart, so that a slow store is not asked for less, and what
// session n does is a function of (seed, n).
//
// Each trial of a run draws other operations and arrivals from the seed, the same
// for all models and engines; the mail that is loaded is the same.
package workloads
