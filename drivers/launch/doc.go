// Package launch starts, watches and stops real engines on loopback, for tests
// and first runs: Cassandra with up to three nodes, HBase in one process or
// with up to two region servers apart. It needs Java and Maven and nothing else:
// the user's own mvn fetches the engine's jars once.
//
// An instance is a folder: configuration, data and log of each node, and a state
// file that names the processes. Processes are known by their id and the moment
// at which they were started, so a stranger that got the id of a dead node is
// never taken for it. They outlive the process that started them.
package launch
