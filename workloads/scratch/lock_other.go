//go:build !unix

package scratch

import (
	"errors"
	"os"
)

// lockFolder has no lock that ends with its process on this system.
func lockFolder(string) (*os.File, error) { return nil, errors.ErrUnsupported }
