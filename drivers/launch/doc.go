// Package launch starts, watches and stops real engines on loopback, for tests
// and first runs: Cassandra with up to three nodes, and HBase in one process or with
// up to two region servers in processes of their own. It needs only Java and Maven:
// the user's own mvn fetches the engine's jars once.
//
// An instance is a folder. It holds the configuration, data and log of each node,
// and a state file that names the processes. The state file identifies a process by
// its id and its start time, so launch never takes another process with the same id
// for a node. Nodes outlive the process that started them.
package launch
