package am_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"heddle/am"
	"heddle/yarn/records"
)

// An ApplicationMaster that has ten containers do something, and those again that fail.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	const tasks = 10
	request := am.Request{Resource: records.NewResource(512, 1), Tags: []string{"greet"}}

	err := am.Run(ctx, am.Options{}, func(ctx context.Context, m *am.Master) error {
		all := request
		all.Count = tasks
		if _, err := m.Request(all); err != nil {
			return err
		}
		done, failures := 0, 0
		for e := range m.Events() {
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					m.Start(c.ID, am.Launch{Command: []string{"echo hello 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"}})
				}
			case am.ContainerCompleted:
				if e.ExitStatus != 0 {
					if failures++; failures > 3 {
						return fmt.Errorf("too many failures, the last on %v: %s", e.Container.Node, e.Diagnostics)
					}
					if _, err := m.Request(request); err != nil {
						return err
					}
					continue
				}
				if done++; done == tasks {
					return nil
				}
				m.SetProgress(float32(done) / tasks)
			}
		}
		return context.Cause(ctx)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
