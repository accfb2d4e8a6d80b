package executor

import (
	"net"
	"reflect"
	"testing"

	"heddle/yarn/wire"
)

// serving returns the other end of an executor with so many slots.
func serving(t *testing.T, slots uint64) *wire.Conn {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		c := wire.NewConn(near)
		defer c.Close()
		_ = Serve(t.Context(), c, wire.Hello{Slots: slots}, engine(t)) // it ends with the connection
	}()
	c := wire.NewConn(far)
	t.Cleanup(func() {
		c.Close()
		<-served
	})
	if _, err := c.Receive(); err != nil {
		t.Fatal(err)
	}
	return c
}

func expect(t *testing.T, c *wire.Conn, want ...wire.Message) {
	t.Helper()
	for _, w := range want {
		if got, err := c.Receive(); err != nil || !reflect.DeepEqual(got, w) {
			t.Fatalf("%+v (%v), not %+v", got, err, w)
		}
	}
}

// A task that was sent ahead begins when another one ends, in their order, or when it is told to. It is given back if it is recalled or cancelled before. One that
// takes no time needs no room.
func TestTasksAhead(t *testing.T) {
	c := serving(t, 9)
	waits := func(id uint64) *wire.Task { return &wire.Task{ID: id, What: wire.Nothing, TimeoutMS: 3600_000} }
	ahead := func(id uint64) *wire.Task {
		m := waits(id)
		m.Ahead = true
		return m
	}
	if _, err := c.Write(waits(1), ahead(2), ahead(3), ahead(4), ahead(5), ahead(6), &wire.Recall{ID: 3}, &wire.Cancel{ID: 4}, &wire.Recall{ID: 1}, &wire.Cancel{ID: 1}); err != nil {
		t.Fatal(err)
	}
	canceled := func(id, began uint64) *wire.Ended { return &wire.Ended{ID: id, Why: wire.Canceled, Began: began} }
	expect(t, c, canceled(3, 0), canceled(4, 0), canceled(1, 2))
	_, _ = c.Write(&wire.Begin{ID: 6}, &wire.Begin{ID: 99}, &wire.Recall{ID: 2}, &wire.Cancel{ID: 2})
	expect(t, c, canceled(2, 5))
	_, _ = c.Write(&wire.Cancel{ID: 6})
	expect(t, c, canceled(6, 0))
	_, _ = c.Write(ahead(7), &wire.Task{ID: 8, What: wire.Nothing, Ahead: true}, &wire.Cancel{ID: 5})
	expect(t, c, &wire.Ended{ID: 8}, canceled(5, 7))
	_, _ = c.Write(ahead(9)) // it waits when the connection ends
}
