package oraclenosql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
)

// remove deletes one row. removed is false if there was none.
func (sl *slot) remove(ctx context.Context, st *statement, t *table, args []drivers.Value) (removed bool, err error) {
	key := st.keyOf(args, drivers.Value{})
	r, err := ask(sl, ctx, false, func(left time.Duration) (*nosqldb.DeleteResult, error) {
		return sl.client.Delete(&nosqldb.DeleteRequest{
			TableName: t.full, Key: key, Timeout: left, Durability: sl.store.durability,
		})
	})
	if err != nil {
		return false, writeError(ctx, err, sl.retry.uncertain)
	}
	return r.Success, nil
}

// removeAll deletes the rows below a key, and a partition's static columns. Each request
// deletes some of them. If a later one fails, the outcome is unknown.
func (sl *slot) removeAll(ctx context.Context, st *statement, args []drivers.Value) error {
	request := &nosqldb.MultiDeleteRequest{
		TableName: st.table.full, Key: st.keyOf(args, drivers.Value{}), Durability: sl.store.durability,
	}
	deleted := 0
	for {
		r, err := ask(sl, ctx, false, func(left time.Duration) (*nosqldb.MultiDeleteResult, error) {
			request.Timeout = left
			return sl.client.MultiDelete(request)
		})
		if err != nil {
			return partly(writeError(ctx, err, sl.retry.uncertain), deleted)
		}
		deleted += r.NumDeleted
		if len(r.ContinuationKey) == 0 {
			break
		}
		request.ContinuationKey = r.ContinuationKey
		if err := ctx.Err(); err != nil {
			return partly(err, deleted)
		}
	}
	if st.also == nil {
		return nil
	}
	_, err := sl.remove(ctx, st, st.also, args)
	return partly(err, deleted)
}

// partly is the error of a delete after it has removed some rows.
func partly(err error, deleted int) error {
	if err == nil || deleted == 0 || errors.Is(err, drivers.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %d rows were deleted: %w", drivers.ErrUnknown, deleted, err)
}
