# ElasticInbox on Cassandra, its column families as CQL sees them.
# The DDL of Oracle NoSQL Database for the schema elasticinbox. The Cloud Service has no namespaces:
# leave mailbench_elasticinbox: out there.
# Extension, not in the source design: what pattern size_put writes: sub-column "size": the size of
# the raw message, which lists show and counters of bytes subtract. The query part of a location
# (after "?") is an extension, too: the number of blocks, so that a purge does not search for them
# Extension, not in the source design: what pattern parts_put writes: sub-column "parts": the
# position of the text body and of each attachment in the raw message, so that open reads only their
# blocks; and a CRC-32C of the raw message, by which verification finds a damaged one
# Extension, not in the source design: what pattern purged_put writes: sub-column "l:purge": the
# message's column in the purge index. The source design keeps the labels of a deleted message and
# does not define how a reader recognizes a deleted message, nor how a restore finds its purge entry
# Extension, not in the source design: what pattern block_put writes: every block is its sub-block
# 0; the source design does not define sub-blocks

CREATE NAMESPACE IF NOT EXISTS mailbench_elasticinbox;

# Accounts: The row of an account, its RFC 5322 address. "label:ID" holds a label's name,
# "lattr:ID:attr" an attribute.
CREATE TABLE IF NOT EXISTS mailbench_elasticinbox:Accounts (
  key STRING,
  name STRING,
  value STRING,
  PRIMARY KEY(SHARD(key), name)
);

# MessageMetadata: The row of an account. Its super columns are the account's messages.
# It has no rows: the tables nested in it need a parent.
CREATE TABLE IF NOT EXISTS mailbench_elasticinbox:MessageMetadata (
  key STRING,
  PRIMARY KEY(SHARD(key))
);

# MessageMetadata.columns: A super column, ordered by the message's date, and its sub-columns: from
# and to (JSON arrays of [name, address]), subject, date, size, location (a blob:// URI), l:ID
# labels, m:ID markers. The source design compares their names as bytes; all are text, which sorts
# the same. Two names are extensions; patterns that write them are marked.
# Column message has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by
# time.
CREATE TABLE IF NOT EXISTS mailbench_elasticinbox:MessageMetadata.columns (
  message STRING,
  name STRING,
  value BINARY,
  PRIMARY KEY(message, name)
);

# MessageBlob: A message's raw bytes in blocks of 128 KiB. The row is composite(TimeUUID, int32),
# the column an int32 sub-block.
# Column message has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by
# time.
CREATE TABLE IF NOT EXISTS mailbench_elasticinbox:MessageBlob (
  message STRING,
  block INTEGER,
  subblock INTEGER,
  data BINARY,
  PRIMARY KEY(SHARD(message, block), subblock)
);

# IndexLabels: The row "address:labelID" has a column without a value for each message that has the
# label. The row "address:purge" has a column for each deletion, a TimeUUID of its time, whose value
# is the deleted message.
# Column id has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time.
CREATE TABLE IF NOT EXISTS mailbench_elasticinbox:IndexLabels (
  key STRING,
  id STRING,
  value STRING AS UUID,
  PRIMARY KEY(SHARD(key), id)
);

# Counters: Composite columns "l", label, then b (bytes, label 0 only), m (messages) or u (unread).
# The source design's replicate_on_write is gone since Cassandra 2.1, which always replicates
# counters.
# Column value is a counter: UPDATE … SET adds to it, and reads the row to do so.
CREATE TABLE IF NOT EXISTS mailbench_elasticinbox:Counters (
  key STRING,
  kind STRING,
  id STRING,
  stat STRING,
  value LONG,
  PRIMARY KEY(SHARD(key), kind, id, stat)
);
