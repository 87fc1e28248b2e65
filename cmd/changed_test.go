package cmd

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/drive"
)

// changedMain is a mailbench whose model james lists in another way. If
// MAILBENCH_TEST_CHANGED is "twice", it sends each read twice; if it is a number such as
// 1.10, a listing takes as many times as long.
func changedMain() {
	how, factor := os.Getenv("MAILBENCH_TEST_CHANGED"), 1.0
	if how != "twice" {
		var err error
		if factor, err = strconv.ParseFloat(how, 64); err != nil {
			panic(err)
		}
	}
	drive.Tune()
	known := bundled()
	for i := range known.models {
		m := &known.models[i]
		if m.Name != "james" {
			continue
		}
		bind := m.Bind
		m.Bind = func(ctx context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
			b, err := bind(ctx, p, o)
			return changedModel{b, how == "twice", factor}, err
		}
	}
	os.Exit(execute(known, os.Args[1:], os.Stdout, os.Stderr))
}

type changedModel struct {
	models.Bound
	twice  bool
	factor float64
}

// Mailbox implements models.Bound. The operations that james supports beyond a Mailbox remain.
func (b changedModel) Mailbox(s drivers.Session) models.Mailbox {
	m := b.Bound.Mailbox(s)
	return &changedMailbox{m, m.(models.UIDs), m.(models.Subscriber), m.(models.RangeReader), b.twice, b.factor}
}

type changedMailbox struct {
	models.Mailbox
	models.UIDs
	models.Subscriber
	models.RangeReader
	twice  bool
	factor float64
}

// List implements models.Mailbox. It keeps its processor busy, as more work would.
func (m *changedMailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int, yield func(*models.Entry) error) error {
	if m.twice {
		if err := m.Mailbox.List(ctx, f, after, limit, func(*models.Entry) error { return nil }); err != nil {
			return err
		}
	}
	began := time.Now()
	err := m.Mailbox.List(ctx, f, after, limit, yield)
	for until := time.Duration(float64(time.Since(began)) * m.factor); time.Since(began) < until; {
	}
	return err
}
