// Package imports makes a schema from CQL: from the tables of a keyspace, as
// DESCRIBE prints them, and the statements that read and write them.
//
// There is an access pattern for each distinct statement; literals become
// parameters, but for those of LIMIT. What the schema language cannot say of a
// table or statement is carried through in "other", and a statement that cannot
// be read at all in "other" of the schema: nothing is dropped. Tables and
// patterns keep their places in the CQL ("at" and "lines").
//
// The comments right above a statement can say more:
//
//	-- page: the newest first       the pattern's name, and its doc
//	-- accept queue: few messages   a finding of lint that is intended, with the reason
//	-- bucket: day                  of a table: what a column is for (also chunk and salt)
//
// The language is described in package schemas.
package imports
