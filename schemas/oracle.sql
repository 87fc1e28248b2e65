# Oracle's NoSQL email application, nested tables with all of a user on one shard (document 003).
# The DDL of Oracle NoSQL Database for the schema oracle. The Cloud Service has no namespaces: leave
# mailbench_oracle: out there.
# Added to the document: what pattern set_read writes: the document does not store whether a message
# was read

CREATE NAMESPACE IF NOT EXISTS mailbench_oracle;

# users: A user with credentials; the shard key of all that is nested below.
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

# users.folder.message: A folder's messages. A row holds all of a message, body included.
# Added to the document: column isRead: the document does not store whether a message was read
# Added to the document: column size: size of the raw message in bytes, which lists show
# Added to the document: column attachmentSizes: open lists the attachments of a message without
# reading them
# Added to the document: column attachments: the document does not store attachments
# Added to the document: index arrival: the document reads an inbox by arrival date, which its
# primary key cannot do without a sort
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
