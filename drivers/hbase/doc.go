// Package hbase runs access patterns on Apache HBase through
// github.com/tsuna/gohbase.
package hbase
