# Oracle's NoSQL email application, nested tables with all of a user on one shard.
# The DDL of Oracle NoSQL Database for the schema oracle. The Cloud Service has no namespaces: leave
# mailbench_oracle: out there.
# Extension, not in the source design: what pattern set_read writes: the source design does not
# store whether a message was read

CREATE NAMESPACE IF NOT EXISTS mailbench_oracle;

# users: A user with credentials; the shard key of all nested tables.
CREATE TABLE IF NOT EXISTS mailbench_oracle:users (
  userID STRING,
  emailAddress STRING,
  credentials STRING,
  PRIMARY KEY(SHARD(userID))
);
CREATE INDEX IF NOT EXISTS emailIndex ON mailbench_oracle:users (emailAddress);

# users.folder: A user's folders.
CREATE TABLE IF NOT EXISTS mailbench_oracle:users.folder (
  folderId STRING,
  folderName STRING,
  PRIMARY KEY(folderId)
);

# users.folder.message: A folder's messages. A row contains the whole message with its body.
# Extension, not in the source design: column isRead: the source design does not store whether a
# message was read
# Extension, not in the source design: column size: size of the raw message in bytes, which lists
# show
# Extension, not in the source design: column attachmentSizes: open lists the attachments of a
# message without reading them
# Extension, not in the source design: column attachments: the source design does not store
# attachments
# Extension, not in the source design: index arrival: the source design reads an inbox by arrival
# date, which its primary key cannot do without a sort
CREATE TABLE IF NOT EXISTS mailbench_oracle:users.folder.message (
  messageId STRING,
  createdDate TIMESTAMP(6),
  from STRING,
  toList STRING,
  ccList STRING,
  bccList STRING,
  subject STRING,
  body STRING,
  isRead BOOLEAN,
  size LONG,
  attachmentSizes MAP(LONG),
  attachments MAP(BINARY),
  PRIMARY KEY(messageId, createdDate)
);
# Index arrival ascends: reads go backwards.
CREATE INDEX IF NOT EXISTS arrival ON mailbench_oracle:users.folder.message (userID, folderId, createdDate, messageId);
