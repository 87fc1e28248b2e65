// Package workloads is the workload language: YAML that says which mail there
// is, who has it, and which operations run in which phases at which rate. It
// holds the parsed types, the generators that are functions of (seed, n), and
// the bundled workloads. Running one is package workloads/run.
package workloads
