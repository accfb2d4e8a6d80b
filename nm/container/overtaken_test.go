package container

import (
	"context"
	"testing"

	"heddle/internal/await"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// crowded is a node on which a container that is paged out waits until another one ends.
func crowded(t *testing.T) (l *lab, c, second *Container) {
	t.Helper()
	h := &hooked{}
	l = newLab(t, h.able(true))
	c = l.run(job{id: containerID(1, 1), memory: 8000, command: "while :; do sleep 0.1; done"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	taking := make(chan struct{}, 1)
	h.set(func(h *hooked) {
		h.memory = &cgroup.Memory{Anon: 1000 << 20}
		h.reclaim = func(ctx context.Context, _ cgroup.Group, _ int64) error {
			select {
			case taking <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return ctx.Err()
		}
	})
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	second = l.run(job{id: containerID(1, 2), memory: 7000, command: "while :; do sleep 0.1; done"})
	await.Until(t, "RUNNING", func() bool { return second.State() == Running })
	<-taking
	return l, c, second
}

// The ResourceManager lets a container go on whose memory is still being paged out. Until there is room for it neither that nor what its application asks for has the order fail.
func TestNothingOvertakesAResume(t *testing.T) {
	_, c, second := crowded(t)
	result := make(chan error, 1)
	go func() { result <- c.Order(context.Background(), level(suspend.Running, 8000, 1, 2)) }()
	await.Until(t, "RESUMING", func() bool { return c.State() == Resuming })
	if err := c.Suspend(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	if s := c.Status(); s.State != Paused || s.Suspension.Version != 2 {
		t.Errorf("its application has it stand still: %s, %+v", s.State, s.Suspension)
	}
	second.Kill(records.ExitKilledByAppMaster, "")
	if err := c.Resume(t.Context()); err != nil || c.State() != Running {
		t.Errorf("%v, it is %s", err, c.State())
	}
}

// Somebody has a container go on that waits for room. Neither another size nor a hint ends that; a command that has it stand still does.
func TestChangesDoNotEndAResume(t *testing.T) {
	for _, ends := range []bool{false, true} {
		_, c, second := crowded(t)
		result := make(chan error, 1)
		go func() { result <- c.Resume(context.Background()) }()
		await.Until(t, "RESUMING", func() bool { return c.State() == Resuming })
		j := job{id: c.ID(), memory: 7900}
		for version := int32(1); version <= 3; version++ {
			if err := c.Update(t.Context(), j.grant(version), j.token(version)); err != nil {
				t.Fatal(err)
			}
			c.m.Ahead(c, false)
			await.Until(t, "RESUMING again", func() bool { return c.State() == Resuming })
		}
		if ends {
			if err := c.Suspend(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-result; err == nil || c.State() != Paused {
				t.Errorf("it is to stand still: %v, it is %s", err, c.State())
			}
			continue
		}
		second.Kill(records.ExitKilledByAppMaster, "")
		if err := <-result; err != nil || c.State() != Running || c.Grant().Resource.MemoryMB() != 7900 {
			t.Errorf("%v, it is %s, with %v", err, c.State(), c.Grant().Resource)
		}
	}
}
