# A conversation table with collections, a static column and an index on the sender.
# The DDL of Oracle NoSQL Database for the schema conversation. The Cloud Service has no namespaces:
# leave mailbench_conversation: out there.
# Extension, not in the source design: what pattern attachment reads: the value is the attachment
# itself, as base64; the source design has a text value and does not define it
# Extension, not in the source design: what pattern exists reads: the source design appends a viewer
# without a read; an append to a deleted message would create a ghost row of viewers

CREATE NAMESPACE IF NOT EXISTS mailbench_conversation;

# messages: A conversation's messages, newest first.
# Extension, not in the source design: column attachment_sizes: open lists the attachments of a
# message without reading them
# Oracle has no static columns: this table has them, and its child rows has the rows.
CREATE TABLE IF NOT EXISTS mailbench_conversation:messages (
  conversation_id STRING AS UUID,
  title STRING,
  PRIMARY KEY(SHARD(conversation_id))
);

# messages: A conversation's messages, newest first.
# Extension, not in the source design: column attachment_sizes: open lists the attachments of a
# message without reading them
# Column message_id has a timeuuid's hexadecimal digits, those of its time first, so that it sorts
# by time.
# Column recipients is a set: Oracle has arrays, which the client keeps sorted, without duplicates.
# Keys ascend: reads use ORDER BY message_id DESC and go backwards.
CREATE TABLE IF NOT EXISTS mailbench_conversation:messages.rows (
  message_id STRING,
  content STRING,
  sender STRING,
  recipients ARRAY(STRING),
  attachments MAP(STRING),
  seen_by ARRAY(STRING),
  attachment_sizes MAP(LONG),
  PRIMARY KEY(message_id)
);
CREATE INDEX IF NOT EXISTS sender_idx ON mailbench_conversation:messages.rows (sender);

# conversations_by_user: The conversations that a user takes part in, which are the folders of a
# mailbox.
# Extension, not in the source design: the table: the source design does not define how to find the
# conversations of a user
CREATE TABLE IF NOT EXISTS mailbench_conversation:conversations_by_user (
  user STRING,
  name STRING,
  conversation_id STRING AS UUID,
  is_inbox BOOLEAN,
  PRIMARY KEY(SHARD(user), name)
);
