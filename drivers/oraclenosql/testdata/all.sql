# Every type, and every shape of table.
# The DDL of Oracle NoSQL Database for the schema all-types. The Cloud Service has no namespaces:
# leave mailbench_run_all_types: out there.

CREATE NAMESPACE IF NOT EXISTS mailbench_run_all_types;

# things: Every type as a key, a column and in a collection.
# Column q has hexadecimal digits, which sort like the bytes: a key cannot be BINARY.
# Column f is 0 or 1: Oracle cannot read a range of BOOLEAN keys.
# Column tu has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time.
# Column left is called left_: SQL does not take its name.
# Column a-b is called a_b: SQL does not take its name.
# Column tags is a set: Oracle has arrays, which the client keeps sorted, without duplicates.
# Column by_number has keys of type int, which are written as text: the keys of a map are strings.
# Keys ascend: the order n DESC, with other key columns ascending, needs a sort.
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:things (
  p STRING,
  q STRING,
  i INTEGER,
  n LONG,
  f INTEGER,
  u STRING AS UUID,
  tu STRING,
  at TIMESTAMP(6),
  left_ STRING,
  a_b STRING,
  data BINARY,
  size LONG,
  seen BOOLEAN,
  id STRING AS UUID,
  when TIMESTAMP(6),
  tags ARRAY(STRING),
  list ARRAY(INTEGER),
  files MAP(BINARY),
  by_number MAP(TIMESTAMP(6)),
  PRIMARY KEY(SHARD(p, q), i, n, f, u, tu, at)
);
CREATE INDEX IF NOT EXISTS by_size ON mailbench_run_all_types:things (size);
# Index by_data is left out: no index is over data, which is blob.
# Index newest ascends: reads go backwards.
CREATE INDEX IF NOT EXISTS newest ON mailbench_run_all_types:things (p, q, n);

# things.parts
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:things.parts (
  part INTEGER,
  bytes BINARY,
  PRIMARY KEY(part)
);

# counts
# Column n is a counter: UPDATE … SET adds to it, and reads the row to do so.
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:counts (
  p STRING,
  n LONG,
  PRIMARY KEY(SHARD(p))
);

# talk
# Oracle has no static columns: this table has them, and its child rows has the rows.
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:talk (
  p STRING,
  title STRING,
  PRIMARY KEY(SHARD(p))
);

# talk
# Keys ascend: reads use ORDER BY k DESC and go backwards.
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:talk.rows (
  k INTEGER,
  v STRING,
  PRIMARY KEY(k)
);

# talk.seen
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:talk.rows.seen (
  reader STRING,
  at TIMESTAMP(6),
  PRIMARY KEY(reader)
);

# header
# It has no rows: the tables nested in it need a parent.
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:header (
  h STRING,
  id INTEGER,
  PRIMARY KEY(SHARD(h), id)
);

# header.meta
CREATE TABLE IF NOT EXISTS mailbench_run_all_types:header.meta (
  name STRING,
  value STRING,
  PRIMARY KEY(name)
);
