package oraclenosql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/schemas"
)

// liveTable is a table as the server describes it.
type liveTable struct {
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Parent     string      `json:"parent"`
	Comment    string      `json:"comment"`
	Fields     []liveField `json:"fields"`
	PrimaryKey []string    `json:"primaryKey"`
	ShardKey   []string    `json:"shardKey"`
	Indexes    []struct {
		Name   string `json:"name"`
		Fields []struct {
			Path string `json:"path"`
		} `json:"fields"`
	} `json:"indexes"`

	full   string
	mark   mark
	marked bool
}

// liveField is a column of it, or the elements of a collection.
type liveField struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Precision  int        `json:"precision"`
	AsUUID     bool       `json:"as uuid"`
	Collection *liveField `json:"collection"`
}

// liveNamespace is a namespace as the server has it; its tables are by their path.
type liveNamespace struct {
	name   string
	tables map[string]*liveTable
}

// readNamespace reads the tables of a namespace. It is nil if there is no such namespace, or
// it has no tables.
func (s *Store) readNamespace(ctx context.Context, name string) (*liveNamespace, error) {
	s.admin.Lock()
	defer s.admin.Unlock()
	list, err := send(s.ddl, ctx, true, func(left time.Duration) (*nosqldb.ListTablesResult, error) {
		return s.ddl.client.ListTables(&nosqldb.ListTablesRequest{Namespace: name, Timeout: left})
	})
	if err != nil {
		if code := codeOf(err); code == nosqlerr.ResourceNotFound || strings.Contains(err.Error(), "amespace") &&
			strings.Contains(err.Error(), "not") {
			return nil, nil
		}
		return nil, fmt.Errorf("list the tables of namespace %s: %w", name, err)
	}
	n := &liveNamespace{name, make(map[string]*liveTable)}
	for _, path := range list.Tables {
		t, err := s.readTable(ctx, name, path)
		if err != nil {
			return nil, err
		}
		if t != nil {
			n.tables[strings.TrimPrefix(t.full, name+":")] = t
		}
	}
	if len(n.tables) == 0 {
		return nil, nil
	}
	return n, nil
}

// readTable reads a table; nil if it was dropped meanwhile.
func (s *Store) readTable(ctx context.Context, namespace, path string) (*liveTable, error) {
	full := path
	if !strings.Contains(path, ":") {
		full = namespace + ":" + path
	}
	r, err := send(s.ddl, ctx, true, func(left time.Duration) (*nosqldb.TableResult, error) {
		return s.ddl.client.GetTable(&nosqldb.GetTableRequest{TableName: full, Timeout: left})
	})
	if codeOf(err) == nosqlerr.TableNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe table %s: %w", full, err)
	}
	t := &liveTable{full: full}
	if err := json.Unmarshal([]byte(r.Schema), t); err != nil {
		return nil, fmt.Errorf("describe table %s: %w", full, err)
	}
	t.mark, t.marked = readMark(t.Comment)
	return t, nil
}

// sqlType writes a field's type as the DDL does.
func (f *liveField) sqlType() string {
	switch {
	case f.AsUUID:
		return "STRING AS UUID"
	case f.Type == "TIMESTAMP":
		return fmt.Sprintf("TIMESTAMP(%d)", f.Precision)
	case f.Collection != nil:
		return f.Type + "(" + f.Collection.sqlType() + ")"
	}
	return f.Type
}

// column returns a field as a column of the schema. The mark says its name and type; the
// type does not count if somebody has changed the field.
func (t *liveTable) column(name string, role schemas.Role) *schemas.Column {
	at := slices.IndexFunc(t.Fields, func(f liveField) bool { return strings.EqualFold(f.Name, name) })
	c := &schemas.Column{Name: name, Role: role}
	if at < 0 {
		return c
	}
	f := t.Fields[at]
	c.Name = f.Name
	typ := f.sqlType()
	if own, ok := t.mark.Columns[f.Name]; ok {
		c.Desc, c.Type = own.Desc, schemas.TypeOf(own.Type)
		if own.Name != "" {
			c.Name = own.Name
		}
		if c.Type.Foreign == "" {
			if want, _ := columnType(c); want == typ {
				return c
			}
		}
	}
	c.Type = plainType(typ)
	return c
}

// plainType returns the type of the schema language that is written so, or a foreign one.
func plainType(typ string) schemas.Type {
	for _, text := range []string{"text", "blob", "int", "bigint", "boolean", "timestamp"} {
		if t := schemas.TypeOf(text); typeOf(t) == typ {
			return t
		}
	}
	if typ == "STRING AS UUID" {
		return schemas.TypeOf("uuid")
	}
	return schemas.Type{Foreign: typ + " of Oracle"}
}
