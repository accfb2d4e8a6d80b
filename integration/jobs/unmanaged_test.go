package jobs

import (
	"context"

	"heddle/am"
	"heddle/am/unmanaged"
	"heddle/conf"
)

// unmanaged runs an ApplicationMaster in this process until the test ends, whose tasks take so much memory (MB). begin says what it does about events.
func (c *cluster) unmanaged(o unmanaged.Options, memory int, begin func(*am.Master) am.Callbacks) *unmanaged.Running {
	c.t.Helper()
	o.Conf, o.Name = must(conf.Load(conf.Options{Dir: c.conf})), c.t.Name()
	x, err := unmanaged.New(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	running, err := x.Run(c.t.Context(), memory, func(ctx context.Context, m *am.Master, _ string, stop <-chan struct{}) error {
		events := begin(m)
		for {
			select {
			case <-stop:
				return nil
			case e, ok := <-m.Events():
				if !ok {
					return context.Cause(ctx)
				}
				events.Dispatch(e)
			}
		}
	}, func(err error) { c.t.Error(err) })
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			c.t.Error(err)
		}
	})
	return running
}
