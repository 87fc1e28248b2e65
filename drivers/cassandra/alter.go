package cassandra

import "context"

// alterAttempts is how often a schema change is tried. On a loaded cluster one may
// take longer than a request's timeout. All schema changes here can be run twice.
const alterAttempts = 3

// alter runs a statement that changes the schema. It uses the same node each time,
// as long as that node is up. gocql waits until all nodes know of the change.
func (c *cluster) alter(ctx context.Context, stmt string) (err error) {
	for range alterAttempts {
		at := ctx
		if up := c.nodes.reachable(); len(up) > 0 {
			at = toNode(ctx, up[0])
		}
		err = c.session.Query(stmt).WithContext(at).Exec()
		if err == nil || ctx.Err() != nil || classify(err, plainWrite) != unknown {
			break
		}
	}
	return err
}
