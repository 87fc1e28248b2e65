package launch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"

	"github.com/mailbench/mailbench/schemas/words"
)

// checkPorts returns an error if a node could not listen on one of its addresses.
func checkPorts(nodes []Node) error {
	for _, n := range nodes {
		for _, address := range n.Listens {
			if err := checkPort(address); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPort(address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l.Close()
	}
	host, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %s on %s is taken, perhaps by another engine: end that one, or name another --port and --dir",
			port, host)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("cannot listen on %s: start one node, or add the address to the loopback device ("+
			addAddress+")", host, host)
	default:
		return fmt.Errorf("cannot listen on %s: %w", address, err)
	}
}

// freePorts finds a first port with which all addresses of an instance are free. It stays
// below 32768, where Linux takes the ports of outgoing connections.
func freePorts(e engine, count int) (int, error) {
	const lowest, highest, tries = 20000, 32000, 100
	var err error
	for range tries {
		port := lowest + rand.IntN(highest-lowest)
		if err = checkPorts(e.nodes(port, count)); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free ports: %w", err)
}

// checkMemory returns an error if the nodes would make the machine swap, or make the
// kernel kill a process.
func checkMemory(e engine, heap int64, processes int) error {
	available, err := availableMemory()
	if err != nil {
		return fmt.Errorf("find out how much memory is free: %w", err)
	}
	f := e.facts()
	if need := (heap + f.overhead) * int64(processes); need > available {
		return fmt.Errorf("not enough memory: %s of %s need %s and %s is available; start fewer, or give each less with --heap",
			words.Plural(processes, "process"), f.Name, words.Size(float64(need)), words.Size(float64(available)))
	}
	return nil
}
