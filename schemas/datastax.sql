# Messaging tables after DataStax's data modeling example.
# The DDL of Oracle NoSQL Database for the schema datastax. The Cloud Service has no namespaces:
# leave mailbench_datastax: out there.

CREATE NAMESPACE IF NOT EXISTS mailbench_datastax;

# folders_by_user: A user's folders, one partition a user (Q1).
# Extension, not in the source design: column is_inbox: lists of folders begin with the account's
# inbox, whatever its label
CREATE TABLE IF NOT EXISTS mailbench_datastax:folders_by_user (
  username STRING,
  label STRING,
  color STRING,
  is_inbox BOOLEAN,
  PRIMARY KEY(SHARD(username), label)
);

# unread_email_stats: Unread emails by label, overflow labels too. Counters cannot share a table
# with plain columns.
# Column num_unread is a counter: UPDATE … SET adds to it, and reads the row to do so.
CREATE TABLE IF NOT EXISTS mailbench_datastax:unread_email_stats (
  username STRING,
  label STRING,
  num_unread LONG,
  PRIMARY KEY(SHARD(username), label)
);

# emails_by_user_folder: The emails of a label, newest first (Q2). When a partition grows too large,
# new emails go to an overflow label.
# Extension, not in the source design: column overflowed: whether the next overflow label is in use;
# a list of a folder without overflow labels is one slice
# Extension, not in the source design: column since: when an overflow label came into use. Earlier
# labels have no emails that are much newer, so a list does not read them
# Oracle has no static columns: this table has them, and its child rows has the rows.
CREATE TABLE IF NOT EXISTS mailbench_datastax:emails_by_user_folder (
  username STRING,
  label STRING,
  overflowed BOOLEAN,
  since TIMESTAMP(6),
  PRIMARY KEY(SHARD(username, label))
);

# emails_by_user_folder: The emails of a label, newest first (Q2). When a partition grows too large,
# new emails go to an overflow label.
# Extension, not in the source design: column overflowed: whether the next overflow label is in use;
# a list of a folder without overflow labels is one slice
# Extension, not in the source design: column since: when an overflow label came into use. Earlier
# labels have no emails that are much newer, so a list does not read them
# Column id has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time.
# Keys ascend: reads use ORDER BY id DESC and go backwards.
CREATE TABLE IF NOT EXISTS mailbench_datastax:emails_by_user_folder.rows (
  id STRING,
  from STRING,
  subject STRING,
  is_read BOOLEAN,
  PRIMARY KEY(id)
);

# emails: An email, stored once for all users and labels that show it (Q3). Its time is in its id.
# Column id has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time.
# Column to is a set: Oracle has arrays, which the client keeps sorted, without duplicates.
CREATE TABLE IF NOT EXISTS mailbench_datastax:emails (
  id STRING,
  to ARRAY(STRING),
  from STRING,
  subject STRING,
  body STRING,
  attachments MAP(LONG),
  PRIMARY KEY(SHARD(id))
);

# attachments: Chunks of attachments, one partition per chunk, so that many nodes serve a large
# attachment (Q4).
# Extension, not in the source design: column checksum: CRC-32C of the chunk; the source design
# cannot detect a damaged chunk
# Column email_id has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by
# time.
CREATE TABLE IF NOT EXISTS mailbench_datastax:attachments (
  email_id STRING,
  filename STRING,
  chunk_number INTEGER,
  bytes BINARY,
  checksum LONG,
  PRIMARY KEY(SHARD(email_id, filename, chunk_number))
);

# folder_sizes: How many emails each label of a folder shows. New emails go to the label with the
# highest overflow.
# Extension, not in the source design: the table: the source design defines when overflow labels
# come into use, but not where the size of a label is stored
# Column messages is a counter: UPDATE … SET adds to it, and reads the row to do so.
# Keys ascend: the order overflow DESC, with other key columns ascending, needs a sort.
CREATE TABLE IF NOT EXISTS mailbench_datastax:folder_sizes (
  username STRING,
  label STRING,
  overflow INTEGER,
  messages LONG,
  PRIMARY KEY(SHARD(username), label, overflow)
);
