package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"heddle/cmd/internal/program"
	"heddle/conf"
	"heddle/rm"
)

// ownPatience bounds how long a benchmark's ResourceManager may take to open its ports.
const ownPatience = 20 * time.Second

// ownRM is a ResourceManager that was started for a measurement.
type ownRM struct {
	pid  int
	stop func() error // ends it and removes its folder
}

// free returns addresses of ports that are free.
func free(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // when all are chosen, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// startOwn starts a ResourceManager of heddle on free ports, with its state in a temporary folder, and sets its
// addresses in the configuration. Settings are KEY=VALUE.
func startOwn(ctx context.Context, c *conf.Config, settings ...string) (*ownRM, error) {
	dir, err := os.MkdirTemp("", "heddle-bench-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	heddle, err := program.Beside("heddle")
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	args := []string{"rm", "-D", "heddle.state.dir=" + dir, "-D", "heddle.log.level=warn"}
	for _, s := range settings {
		args = append(args, "-D", s)
	}
	keys := []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress}
	addresses, err := free(len(keys))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	for i, key := range keys {
		c.Set(key, addresses[i])
		args = append(args, "-D", key+"="+addresses[i])
	}
	logFile := filepath.Join(dir, "log")
	log, err := os.Create(logFile)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	defer log.Close()
	cmd := exec.Command(heddle, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, remove())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return errors.Join(<-ended, remove())
	}
	for deadline := time.Now().Add(ownPatience); !open(addresses); {
		select {
		case err := <-ended:
			said, _ := os.ReadFile(logFile)
			return nil, errors.Join(fmt.Errorf("the benchmark's ResourceManager has ended (%w): %s", err, said), remove())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), stop())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("the benchmark's ResourceManager has not opened its ports after %v", ownPatience), stop())
		}
	}
	return &ownRM{cmd.Process.Pid, stop}, nil
}

// open reports whether all addresses accept connections.
func open(addrs []string) bool {
	for _, a := range addrs {
		conn, err := net.DialTimeout("tcp", a, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
	}
	return true
}
