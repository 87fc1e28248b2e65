// Package schemas is mailbench's schema language: the tables of a mailbox data model
// (nested and wide-column), and its access patterns, the only reads and writes that its
// code may run. A schema file is YAML:
//
//	schema: 1
//	name: datastax
//	description: Messaging tables after DataStax's data modeling example.
//	native: cassandra
//	tables:
//	  emails_by_user_folder:
//	    description: One partition a folder, newest first.
//	    partition: [username text, label text]
//	    clustering: [id timeuuid desc]
//	    columns: {from: text, subject: text, is_read: boolean}
//	patterns:
//	  page: {description: Q2, slice: emails_by_user_folder, by: [username, label], after: id, limit: arg,
//	         columns: [id, from, subject, is_read]}
//
// # Tables
//
// A table has partition columns, clustering columns ("name type", with "desc"
// for descending order), static columns (one value per partition) and plain
// columns. Types are text, blob, int, bigint, boolean, uuid, timeuuid,
// timestamp (microseconds), counter, set<T>, list<T> and map<K,V>, and, for Cassandra alone,
// types of CQL (below). A table may be nested with
// "parent: TABLE": it inherits the whole primary key of its parent and adds
// clustering columns. A parent without columns is only a row header.
// A nested table is ElasticInbox's super column, James' second column
// family and Oracle's child table; drivers decide from it where partition, row
// and qualifier end. "indexes" declares local secondary indexes by their columns, in
// order. "addition" marks an extension, which the source design does not have, with the
// reason. "hints" are engine options; they never change the stored data.
//
// In full, with T for a type:
//
//	TABLE:
//	  description: text
//	  addition: reason
//	  parent: TABLE                    # or partition: [name T, …]
//	  clustering: [name T, name T desc, …]
//	  columns: {name: T, name: {type: T, addition: reason}, …}
//	  static: {…}                      # as columns; root tables only
//	  indexes: {NAME: [column, column desc, …], NAME: {columns: […], addition: reason}}
//	  references: {NAME: {to: TABLE, by: [column, …], orphan_ok: true}}
//	  counts: {NAME: {column: COLUMN, of: TABLE, by: [column, …], sum: COLUMN}}
//	  hints: {ENGINE: {setting: value, …}}
//	  accept: {RULE: reason, …}        # accepted findings of "mailbench schema lint"
//	  rows: [{each: ENTITY, …}, …]     # see Population
//	  bucket: COLUMN                   # a partition column whose next value begins a new partition
//	  chunk: COLUMN                    # a key column that numbers the pieces of one value
//	  salt: COLUMN                     # a partition column with few values, which spreads rows
//	  other: {word: text, …}           # see Imported schemas
//	  at: FILE:LINE
//	  lines: {COLUMN: LINE, …}
//
// "mailbench schema lint" guesses the columns of these purposes, by names and types, unless
// the table names them. An empty list means none.
//
// Inside {…}, YAML ends a word at a comma: write "map<text,int>" in quotes.
// A table with counters has no other columns than its key.
//
// # Types of CQL
//
// A schema for Cassandra alone can also use ascii, tinyint, smallint, varint, float, double,
// decimal, inet, date, time, duration, timestamp_ms (CQL's timestamp, in milliseconds),
// frozen<T>, tuple<T,…>, vector<T,N>, and user-defined types:
//
//	types: {address: {street: text, place: 'tuple<double,double>'}}
//
// Lint rules treat date and timestamp_ms as times, whole numbers as int or bigint, ascii as
// text. Every other engine refuses the schema.
//
// # Imported schemas
//
// "mailbench schema import" creates a schema from CQL. "other" of the schema, a table or a
// pattern has the settings, clauses and statements that the language cannot express. No rule
// judges them, and an engine does not run a pattern that has some. Cassandra's tables get, and
// "mailbench schema diff" compares, read_repair, speculative_retry, additional_write_policy,
// memtable_flush_period_in_ms and cdc of a table; of the schema, replication and
// durable_writes are compared. "at" is where a table or
// pattern was in the CQL, "lines" where its columns and indexes were: findings point there.
//
// A pattern with "at" may have features of CQL alone: a filter over any column, a slice with in
// over the last partition column, append and remove-element of sets and maps, if: present. A table
// with "at" may have an index over a collection or a static column.
//
// # Relations between rows
//
// Both references and counts declare which rows of another table belong to a row. "mailbench
// schema validate" checks them. They do not change the stored data.
//
//	IndexLabels:
//	  references:
//	    message:
//	      to: MessageMetadata.columns
//	      from: {key: "{account}:{label int}", id: "{message}"}
//	      at: {key: "{account}", message: "{message}", name: "l:{label}"}
//
// Rows belong together if their variables have equal texts. "{account}" means
// any text, "{label int}" a whole number (also bigint, uuid, timeuuid; of a blob
// the 16 bytes of an identifier, too), "{}" text that does not matter, everything else
// itself. A row that does not match the templates is left out, and a null never
// matches. A template of a set, list or map is compared with each element or key. The
// short form by: [mailbox, uid] is for columns of equal names in both tables.
//
// A reference means: such a row exists. With orphan_ok, a row without it is no
// error: an interrupted operation or a delete leaves orphans. A count means: the
// column is the number of such rows, or the sum of one of their columns (the size of
// a text or blob, or a number).
//
// # Patterns
//
// A pattern names its kind and its table in one key (get, slice, scan, put,
// put-if, increment, append, remove-element, delete) or lists its parts (batch). The
// comments of [Pattern] have the meaning of each other key, and the order of the
// arguments of a call. A list of one name may be written as the name alone.
//
//	description, addition
//	                any kind
//	form            any kind with an addition: true says that the addition is the
//	                form of a value, and that the source design has the request itself.
//	                Costs of additions leave it out.
//	accept          any kind, as of a table
//	fallback        any kind: the pattern that runs instead on an engine that
//	                cannot run this one. Its arguments and columns are the same;
//	                arguments of after may be in its own order.
//	by              get, put, put-if, increment, append, remove-element: the whole primary key,
//	                also if it is left out (with static, the partition key; with
//	                in, the columns before in).
//	                slice: at least the partition key, or the first column of its index.
//	                delete: at least the partition key; never left out.
//	in              get: the last column of the key. slice: the next one after by.
//	element         get: a map column
//	filter          slice, scan: plain columns. An engine with an index that begins
//	                with one of them uses it; else the pattern is emulated.
//	from, to        slice: "column", "column open" or "column closed" (the default)
//	after           slice: the next columns after by (through an index: its
//	                columns, then the rest of the primary key)
//	index, reverse  slice
//	nested          slice: true also reads the rows of the tables around this one, whose
//	                columns it may name. A row of these without rows of this table has
//	                nulls for them. Its fallback leaves their columns out.
//	limit           slice, scan: a number or arg
//	columns         get, slice, scan: "*" unless it says otherwise.
//	                put, put-if: all plain columns (with static: all static ones).
//	                increment: counters or bigints, must be given.
//	                append, remove-element: lists, must be given.
//	varies          slice: the parts that a variant may change, which the model supports:
//	                columns (it leaves out the last), pages (it reads all rows in
//	                any order, without after and limit)
//	if              put-if: absent, present, or plain and static columns (of the row's
//	                partition). With static columns a put-if may write both. Cassandra runs it.
//	                delete: present, with the whole primary key. An atomic batch with such a part
//	                is applied only if the row is there.
//	other, at       any kind, see Imported schemas
//	scope           delete: row, prefix or partition. It follows from by; where it
//	                is written down it must agree
//	returns         increment: new, the values after it
//	static          get, scan, put: the static columns of a partition
//	parallel        get with in over a partition column, batch with atomic none
//	atomic          batch: none (unless it says otherwise), row, partition, shard, all
//	batch           a list of PATTERN or {run: PATTERN, each: word}
//
// # Parameters
//
// A schema may have numbers that users of its model choose ("models" of a workload):
//
//	parameters: {chunk_size: {default: 1MiB, min: 1KB, max: 50MB, description: bytes of a message in one cell}}
//
// bytes and above of pieces, max of rows and parallel of a pattern may name one instead of a number.
//
// A parameter may also be one of several texts:
//
//	parameters: {blob_store: {default: db, enum: [db, fs-local], description: where large bodies are}}
//
// # Workflow
//
// A schema may declare the order in which a mail client reads: each pattern with the
// patterns that get their arguments from its rows. The last pattern
// has an empty list, or no entry if it follows another one. "schema diagram"
// draws it.
//
//	workflow: {folders: page, page: [message, thread], by_sender: []}
//
// # Variants
//
// A variant is a file with only the differences from another schema:
//
//	schema: 1
//	extends: james
//	name: james@checked-flags
//	patterns:
//	  flag_seen: {put: ~, put-if: JAMES_MESSAGES, if: size}
//
// Mappings are merged key by key, "~" removes a key, and anything else (a list, a
// type) replaces the value of the base. The name is BASE@WORD. The model of the
// base runs the variant without knowing it, so its patterns keep their names, their
// arguments and the order of lists: Parse refuses others, except where a pattern of
// the base varies. Source is the text of the
// whole schema; errors name the place of a table or pattern in its own file.
//
// A variant may add patterns that the base names in "variants may add". The model runs
// them instead of others if they exist:
//
//	variants may add: [message_if, last_uid, body]
//
// # Population
//
// "rows" declares the rows of a table ([Rows]), so that a forecast can estimate the sizes
// of the table and its partitions:
//
//	rows:
//	  - {each: user, sizes: {key: address}}
//	  - {each: message, partition: folder, sizes: {key: address + 2, subject: subject}, ends: [move, delete]}
//	  - {each: message, pieces: {of: raw, bytes: 131072}, sizes: {data: piece}}
//
// each is user, folder, message or attachment: there is a row (or times: N rows)
// for each of them in the dataset, or with "shared: true" for each that is
// delivered, to any number of mailboxes. pieces divides a quantity, with a row
// for each piece. With outside: PARAMETER and above: NUMBER, a larger value is a file of a
// store outside of the engine, and no row, if the parameter does not have its first value.
// partition names the entity whose rows share one partition; without it, each entity (or
// piece) has its own partition. ends are the operations (move, delete, purge) that delete such
// a row and leave a tombstone. max is the number of rows in the partition of a user or folder after
// which a new one begins.
//
// sizes are bytes of text, blob and collection columns: a sum of numbers and
// quantities ([Quantities]) such as "2 + 1.34*attachment-bytes", or none for
// a column that the rows do not have. A collection is {cells: SUM, bytes: SUM}.
// Columns of other types have their type's size.
//
// Rows of other entities than mail have their own number, and need no workload:
//
//	rows:
//	  - {each: order, per: {day: 5000}, partition: {of: 300, every: month}, sizes: {note: 80}}
//	  - {each: product, count: 20000, sizes: {name: 40}}
//
// each is any name. count is the number at the start, per the number of new ones in an hour,
// day, week, month or year. With partition, "of" partitions share the rows at a time, such as
// one for each customer, and every period begins new
// ones; busiest: 10 gives one of them ten times the mean number. "all" is a single partition.
// Without it, each has its own partition. sizes are numbers.
//
// # Text and comparison
//
// [Format] writes a schema as its canonical text, which Parse reads back.
// [Canonical] reduces a schema to its part that an engine stores, in one order.
// Drivers return the tables that an engine has in the same form. [Diff] compares
// two such forms and names every [Difference], the most harmful first.
package schemas
