package plan

import (
	"context"

	"github.com/mailbench/mailbench/workloads"
)

// hottestSample is how many operations Hottest looks at: enough to know a share of 1% within
// a tenth of itself.
const hottestSample = 20_000

// Hottest returns the shares of operations that go to the busiest user and to the busiest
// folder, by the first operations of the last measured phase. A delivery goes to each of its
// recipients. Both are 0 if no phase is measured or its trace is not read. The error is ctx's.
func Hottest(ctx context.Context, w *workloads.Workload, c *Census) (user, folder float64, err error) {
	var last *workloads.Phase
	for i := range w.Phases {
		if w.Phases[i].Kind == workloads.Measure {
			last = &w.Phases[i]
		}
	}
	if last == nil || c.Users() == 0 {
		return 0, 0, nil
	}
	type place struct{ user, folder int }
	users, folders := make(map[int]int), make(map[place]int)
	if last.Replay != nil && last.Replay.Source == nil {
		return 0, 0, nil // the file has not been read
	}
	endless := *last
	endless.Duration, endless.Operations = 0, 0
	stream, all := StreamOf(w, &endless, c), 0
	clients := make([]Operation, max(1, last.Clients)) // they take turns
	for n := range hottestSample {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		o := &clients[n%len(clients)]
		if _, ok := stream.Next(0, o); !ok {
			break
		}
		asked := []int{o.User}
		if o.Op == workloads.Deliver {
			asked = o.Recipients
		}
		for _, u := range asked {
			all++
			users[u]++
			user = max(user, float64(users[u]))
			if o.Op == workloads.Folders || o.Op == workloads.Login || o.Op == workloads.Purge || o.Op == workloads.Recount {
				continue // it works on the account as a whole
			}
			in := place{u, o.Folder}
			if c.Shared() {
				in.user = 0
			}
			folders[in]++
			folder = max(folder, float64(folders[in]))
		}
	}
	if all == 0 {
		return 0, 0, nil
	}
	return user / float64(all), folder / float64(all), nil
}
