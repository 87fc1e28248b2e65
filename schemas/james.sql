# Apache James mailbox on HBase.
# The DDL of Oracle NoSQL Database for the schema james. The Cloud Service has no namespaces: leave
# mailbench_james: out there.
# Extension, not in the source design: what pattern count writes: the source design has no message
# count
# Extension, not in the source design: what pattern count_if writes: the source design has no
# message count

CREATE NAMESPACE IF NOT EXISTS mailbench_james;

# JAMES_MAILBOXES: The row key is the mailbox's UUID, so only a scan finds the mailboxes of a user.
# Extension, not in the source design: column message_count: the source design has no message count;
# each delivery and delete changes it
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_MAILBOXES (
  mailbox STRING AS UUID,
  user STRING,
  name STRING,
  last_uid LONG,
  message_count LONG,
  PRIMARY KEY(SHARD(mailbox))
);

# JAMES_MAILBOX_NAMES
# Extension, not in the source design: the table: The source design's key cannot reject a name in
# use: two concurrent creations would both scan and find nothing. Only the creation of an account
# (the empty name) or of a mailbox uses this table
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_MAILBOX_NAMES (
  user STRING,
  name STRING,
  mailbox STRING AS UUID,
  PRIMARY KEY(SHARD(user), name)
);

# JAMES_MESSAGES: Metadata: flags and properties. A flag is one cell, so an update is one put. The
# row key is the mailbox, then the UID in reverse order: the messages of a mailbox are together,
# newest first.
# Extension, not in the source design: column internal_date: the source design has flags and
# properties only
# Extension, not in the source design: column size: size of the raw message in bytes, which lists
# show
# Extension, not in the source design: column chunk_size: the chunk size is configurable, and each
# message stores its own
# Extension, not in the source design: column user_flags: the source design does not define how
# user-defined flags are stored. Their names are separated by spaces; of two concurrent updates, one
# may be lost
# Extension, not in the source design: column properties: the position of the text body and of each
# attachment in the message, so that a read of one needs only its chunks; and a CRC-32C of the
# message, by which verification finds a damaged one
# Keys ascend: reads use ORDER BY uid DESC and go backwards.
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_MESSAGES (
  mailbox STRING AS UUID,
  uid LONG,
  internal_date TIMESTAMP(6),
  size LONG,
  chunk_size INTEGER,
  seen BOOLEAN,
  answered BOOLEAN,
  flagged BOOLEAN,
  deleted BOOLEAN,
  draft BOOLEAN,
  user_flags STRING,
  properties BINARY,
  PRIMARY KEY(SHARD(mailbox), uid)
);

# JAMES_MESSAGES.data: The same row's second family. The message in chunks, named 1, 2, 3 ...
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_MESSAGES.data (
  chunk LONG,
  data BINARY,
  PRIMARY KEY(chunk)
);

# JAMES_SUBSCRIPTIONS: The row is the user. Each column is named after a folder.
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_SUBSCRIPTIONS (
  user STRING,
  folder STRING,
  PRIMARY KEY(SHARD(user), folder)
);
