# Apache James mailbox on HBase (document 001).
# The DDL of Oracle NoSQL Database for the schema james. The Cloud Service has no namespaces: leave
# mailbench_james: out there.
# Added to the document: what pattern count writes: the document has no count of messages
# Added to the document: what pattern count_if writes: the document has no count of messages

CREATE NAMESPACE IF NOT EXISTS mailbench_james;

# JAMES_MAILBOXES: The row is the mailbox's UUID, so only a scan finds the mailboxes of a user.
# Added to the document: column message_count: the document names no count of messages; each
# delivery and delete changes it
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_MAILBOXES (
  mailbox STRING AS UUID,
  user STRING,
  name STRING,
  last_uid LONG,
  message_count LONG,
  PRIMARY KEY(SHARD(mailbox))
);

# JAMES_MAILBOX_NAMES
# Added to the document: the table: The document's key cannot refuse a name that is taken: two
# creations at once would both scan and find nothing. Only the creation of an account (the empty
# name) or of a mailbox uses this table
CREATE TABLE IF NOT EXISTS mailbench_james:JAMES_MAILBOX_NAMES (
  user STRING,
  name STRING,
  mailbox STRING AS UUID,
  PRIMARY KEY(SHARD(user), name)
);

# JAMES_MESSAGES: Metadata: flags and properties. A flag is a cell that says present or absent, so
# an update is one put. The row is the mailbox and then the UID in reverse order: a mailbox's
# messages are together, newest first.
# Added to the document: column internal_date: the document names flags and properties only
# Added to the document: column size: size of the raw message in bytes, which lists show
# Added to the document: column chunk_size: the chunk size is configurable, and a message keeps its
# own
# Added to the document: column user_flags: the document does not say how flags are kept that users
# name. Their names with a space between: of two that set one at once, one may lose it
# Added to the document: column properties: the position of the text body and of each attachment in
# the message, so that a read of one needs only its chunks; and a CRC-32C of the message, by which
# an audit finds a broken one
# Keys ascend: reads say ORDER BY uid DESC and go backwards.
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
