package rpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// changed applies a change of one row that is made of two mutations: their exception is
// in the answer, where gohbase does not see it and does not wait.
func changed(ctx context.Context, s *Sender) error {
	e := Edit{Table: []byte("t"), Row: []byte("r")}
	e.Do(Put, "m", []byte("q"), []byte("v"))
	e.Do(Delete, "m", []byte("old"), nil)
	_, _, err := s.Apply(ctx, &e)
	return err
}

// refusing answers a change of one row with the exception, and all else with nothing.
func refusing(class string, changes *int) sendFunc {
	return func(c *Call) error {
		c.SetRegion(&fakeRegion{client: &fakeConn{}})
		c.ToProto()
		if c.method == "Multi" {
			*changes++
			c.NewResponse().(*pb.MultiResponse).RegionActionResult = []*pb.RegionActionResult{{
				Exception: &pb.NameBytesPair{Name: proto.String(class), Value: []byte(class + ": later")},
			}}
		}
		return nil
	}
}

// TestBusyRegion: a change that a busy region refuses is sent again with pauses that
// grow, until the timeout of a call, and was not applied. The server here is a fake: a
// real region is busy for a moment only.
func TestBusyRegion(t *testing.T) {
	changes := 0
	sl := newFake(refusing("org.apache.hadoop.hbase.RegionTooBusyException", &changes), 400*time.Millisecond)
	err := changed(t.Context(), sl)
	if err == nil || errors.Is(err, drivers.ErrUnknown) || !strings.Contains(err.Error(), "RegionTooBusyException") {
		t.Errorf("error %v, want the refusal, which proves that nothing was applied", err)
	}
	// Pauses of at least 8, 16, 32, 64, 128 and 256 ms.
	if changes > 6 {
		t.Errorf("sent %d times in 400 ms, want at most 6 times", changes)
	}
}

// TestBusyOnce: once the region is no longer busy the change is applied.
func TestBusyOnce(t *testing.T) {
	changes := 0
	refuse := refusing("org.apache.hadoop.hbase.NotServingRegionException", &changes)
	sl := newFake(sendFunc(func(c *Call) error {
		err := refuse(c)
		if c.method == "Multi" && changes == 3 {
			c.response.(*pb.MultiResponse).RegionActionResult[0].Exception = nil
		}
		return err
	}), time.Minute)
	if err := changed(t.Context(), sl); err != nil || changes != 3 {
		t.Errorf("sent %d times, %v; want 3 times", changes, err)
	}
}

// TestBusyThenSilent: the attempts share one timeout. One that is not answered until it
// ends may have been applied.
func TestBusyThenSilent(t *testing.T) {
	changes := 0
	refuse := refusing("org.apache.hadoop.hbase.RegionTooBusyException", &changes)
	began := time.Now()
	const timeout = 300 * time.Millisecond
	var granted time.Duration // from the beginning until the last attempt was given up
	sl := newFake(sendFunc(func(c *Call) error {
		if c.method == "Multi" && changes == 2 {
			c.SetRegion(&fakeRegion{client: &fakeConn{}})
			c.ToProto()
			<-c.Context().Done()
			granted = time.Since(began)
			return c.Context().Err()
		}
		return refuse(c)
	}), timeout)
	err := changed(t.Context(), sl)
	switch {
	case granted == 0: // this machine had no time for the third attempt
		if err == nil || errors.Is(err, drivers.ErrUnknown) {
			t.Errorf("error %v after refusals only, want the refusal", err)
		}
	case !errors.Is(err, drivers.ErrUnknown) || !errors.Is(err, ErrTimeout):
		t.Errorf("error %v, want an unknown outcome after the timeout", err)
	case granted < timeout/2:
		t.Errorf("given up after %v of %v", granted, timeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	sl = newFake(sendFunc(func(c *Call) error {
		cancel()
		return refuse(c)
	}), time.Hour)
	if err := changed(ctx, sl); !errors.Is(err, context.Canceled) {
		t.Errorf("a pause of a call that was canceled: %v", err)
	}
}
