//go:build !windows

package drive

import "time"

var epoch = time.Now()

// precise is the time since the process began.
func precise() time.Duration { return time.Since(epoch) }
