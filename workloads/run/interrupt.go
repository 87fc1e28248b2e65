package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/interrupt"
	"github.com/mailbench/mailbench/workloads/subject"
)

// interrupt carries out a phase that breaks operations off. Of several shards the first does. On an
// engine that keeps nothing there is nothing to look at.
func (c *phases) interrupt(ctx context.Context, p *workloads.Phase) (err error) {
	cell := c.blank(p)
	began := time.Now()
	if !c.target.Caps.Discards && c.runner.config.Shard.Index <= 1 {
		cell.Interrupted, err = c.broken(ctx, p.Messages)
	}
	times(&cell, began, time.Now())
	if err == nil {
		add(c.runner.result, cell)
	}
	return err
}

// broken works on a store of its own, so that the data set stays as it is. The folder of that store
// notes its namespace, and is gone when that is dropped.
func (c *phases) broken(ctx context.Context, messages int) (all []results.Interrupted, err error) {
	config := c.targetConfig()
	config.Keep, config.Ledger, config.Shards, config.Namespace = false, false, nil, ""
	if config.Dir, err = os.MkdirTemp(c.runner.data.path, filepath.Base(c.dir)+"-interrupt-*"); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	t, err := subject.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, t.Close(ctx))
		if left := t.Left(); left != "" {
			c.runner.result.Left = append(c.runner.result.Left, left)
			return
		}
		err = errors.Join(err, os.RemoveAll(config.Dir))
	}()
	return interrupt.All(ctx, t, messages)
}
