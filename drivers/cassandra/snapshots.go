package cassandra

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so nobody wants backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"
