package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"heddle/internal/pause"
	"heddle/yarn/wire"
)

// acceptPause is the time between attempts to accept a connection.
const acceptPause = 100 * time.Millisecond

func (p *Pool) accept() {
	for {
		raw, err := p.listener.Accept()
		if err != nil {
			if p.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// The process most likely has no free file descriptors.
			p.log.WithError(err).Warn("an executor can't connect")
			_ = pause.For(p.ctx, acceptPause) // Accept fails when the pool is closed
			continue
		}
		p.serving.Go(func() {
			c, _, err := p.accepter.Accept(p.ctx, raw)
			if err != nil {
				p.complain(err, "A connection was refused")
				return
			}
			defer c.Close()
			defer context.AfterFunc(p.ctx, c.Close)()
			p.serve(c)
		})
	}
}

// complain tells of an executor that can't be used. One that comes while the pool is closed isn't at fault.
func (p *Pool) complain(err error, what string) {
	if p.ctx.Err() == nil {
		p.log.WithError(err).Warn(what)
	}
}

// maxSlots bounds what an executor may claim.
const maxSlots = 10000

// serve talks to an executor until it is lost.
func (p *Pool) serve(c *wire.Conn) {
	m, err := c.Receive()
	hello, ok := m.(*wire.Hello)
	if err != nil || !ok || hello.Slots == 0 || hello.Slots > maxSlots {
		p.complain(err, "An executor has not said who it is")
		return
	}
	e := &executor{Hello: *hello, conn: c, tasks: map[uint64]*Task{}}
	p.mu.Lock()
	if e.Container != "" && slices.ContainsFunc(p.executors, func(o *executor) bool { return o.Container == e.Container }) {
		p.mu.Unlock()
		p.log.Warnf("a second executor of container %s was refused", e.Container)
		return
	}
	p.executors = append(p.executors, e)
	p.came[e.Container] = true
	e.still = p.still[e.Container]
	c.Standstill(e.still)
	p.mu.Unlock()
	p.log.Debugf("executor %s on %s has come", e.Container, e.Host)
	p.fill(e)
	p.change()
	for err == nil {
		if m, err = c.Receive(); err != nil {
			break
		}
		switch m := m.(type) {
		case *wire.Output:
			p.output(e, m)
		case *wire.Ended:
			err = p.ended(e, m)
		default:
			err = fmt.Errorf("%w: an executor doesn't say %T", wire.ErrMalformed, m)
		}
	}
	p.lost(e, err)
}

// output passes on what a task has written.
func (p *Pool) output(e *executor, m *wire.Output) {
	e.talk.Lock()
	defer e.talk.Unlock()
	p.mu.Lock()
	t := e.tasks[m.ID]
	p.mu.Unlock()
	if t != nil && t.Output != nil && m.Stream <= 1 {
		t.Output(int(m.Stream), m.Data)
	}
}

// awaitOutput returns when Output isn't called any more for tasks that were taken from the executor.
func (e *executor) awaitOutput() {
	e.talk.Lock()
	defer e.talk.Unlock()
}

// fill gives an executor all that it has room for.
func (p *Pool) fill(e *executor) {
	for {
		var t *Task
		var id uint64
		p.mu.Lock()
		if e.room(p.o.Prefetch) {
			t, id = p.assign(e)
		}
		p.mu.Unlock()
		if t == nil {
			return
		}
		p.send(e, t, id)
	}
}

// ended takes the end of a task. Its error says that the executor is of no use any more.
func (p *Pool) ended(e *executor, m *wire.Ended) error {
	p.mu.Lock()
	t := e.tasks[m.ID]
	if t == nil {
		p.mu.Unlock()
		return nil
	}
	if m.Why == wire.Canceled && !t.canceled {
		p.mu.Unlock()
		return errors.New("executor ended tasks that were not cancelled")
	}
	delete(e.tasks, m.ID)
	p.running--
	t.over = true
	var next *Task
	var id uint64
	if e.room(p.o.Prefetch) {
		next, id = p.assign(e)
	}
	idle := p.waiting.n == 0
	p.mu.Unlock()
	if next != nil {
		p.send(e, next, id)
	}
	t.Done(*m, nil)
	if idle {
		p.change()
	}
	return nil
}

// lost takes an executor's tasks back, in front of those that wait.
func (p *Pool) lost(e *executor, why error) {
	p.mu.Lock()
	p.executors = slices.DeleteFunc(p.executors, func(o *executor) bool { return o == e })
	tasks := make([]*Task, 0, len(e.tasks))
	for _, t := range e.tasks {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *Task) int { return int(b.id) - int(a.id) })
	clear(e.tasks)
	p.running -= len(tasks)
	closed := p.err
	reason := p.reasons[e.Container]
	if e.Container != "" && !e.leaving && closed == nil {
		p.gone = append(p.gone, e.Container)
	}
	p.mu.Unlock()
	if reason == "" {
		reason = why.Error()
	}
	if len(tasks) > 0 {
		p.log.Infof("executor %s on %s is lost (%s); %d tasks run again", e.Container, e.Host, reason, len(tasks))
	}
	for _, t := range tasks {
		t.losses++
		var err error
		switch {
		case closed != nil:
			err = closed
		case t.losses >= p.o.Losses:
			err = fmt.Errorf("%w: %d executors have died while they ran it, the last one on %s: %s", ErrLost, t.losses, e.Host,
				reason)
		case t.Restart != nil:
			t.Restart()
		}
		p.mu.Lock()
		again := err == nil && !t.canceled && p.err == nil
		if again {
			t.executor = nil
			p.waiting.push1st(t)
		} else {
			t.over = true
			if err == nil {
				err = p.err
			}
		}
		p.mu.Unlock()
		if !again {
			ended := wire.Ended{}
			if err == nil {
				ended.Why = wire.Canceled
			}
			t.Done(ended, err)
		}
	}
	p.fillOthers()
	p.change()
}

// fillOthers gives tasks that wait to executors that have room.
func (p *Pool) fillOthers() {
	for {
		p.mu.Lock()
		var t *Task
		var id uint64
		e := p.vacant()
		if e != nil {
			t, id = p.assign(e)
		}
		p.mu.Unlock()
		if t == nil {
			return
		}
		p.send(e, t, id)
	}
}
