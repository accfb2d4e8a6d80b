package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
)

// RetryPolicy bounds how long a Failover tries. A bound of zero means no bound. The deadline of a call's context always
// counts as well.
type RetryPolicy struct {
	MaxAttempts int           // tries of one call, the first one included
	MaxElapsed  time.Duration // from the first try to the beginning of the last one
	// Base is the first pause, which comes after all addresses have failed in a row. Every further round doubles it, up
	// to Max. Pauses vary at random between half and one and a half times that. The defaults are 100 ms and 10 s.
	Base, Max time.Duration
	// Random returns numbers in [0, 1); the default is math/rand/v2.
	Random func() float64
	// Waiting, if set, is called before each pause with the last server's error and the time since the first try of the
	// call.
	Waiting func(err error, since time.Duration)
	// Failed, if set, is told of each try that failed, and at which of the addresses.
	Failed func(address int, err error)
}

func (p *RetryPolicy) setDefaults() {
	p.Base = defaultTo(p.Base, 100*time.Millisecond)
	p.Max = max(defaultTo(p.Max, 10*time.Second), p.Base)
	if p.Random == nil {
		p.Random = rand.Float64
	}
}

// pause returns the length of the n-th pause, counted from 0.
func (p *RetryPolicy) pause(n int) time.Duration {
	d := p.Max
	if n < 32 && p.Base<<n > 0 && p.Base<<n < p.Max {
		d = p.Base << n
	}
	return time.Duration(float64(d) * (0.5 + p.Random()))
}

// Failover calls whichever of several servers is active, and remembers which one that was. With a single address it
// tries that one again.
//
// After an error it decides as Hadoop's clients do (RetryPolicies.FailoverOnNetworkExceptionRetry):
//
//	no connection, connection closed by the server, StandbyException    the next server
//	other failures of the connection, timeouts                           the next server, if the method is Repeatable
//	RetriableException                                                   the same server
//	InvalidToken, failed authentication, other exceptions of the server  the caller
//
// The next server is tried at once; when all have been tried in a row there is a pause. So a new leader is found within one pause.
type Failover struct {
	endpoints []*Endpoint
	policy    RetryPolicy
	// current counts failovers; modulo the number of endpoints it is the one in use.
	current *atomic.Uint64
}

// Failover returns an Invoker for the servers at the addresses (host:port), of which there must be at least one. All that a Client returns for the
// same protocol and addresses remember the same server, for all callers.
func (c *Client) Failover(addrs []string, p Protocol, who Identity, policy RetryPolicy) *Failover {
	if len(addrs) == 0 {
		panic("ipc: a Failover needs an address")
	}
	policy.setDefaults()
	f := &Failover{policy: policy, current: c.current(addrs, p)}
	for _, a := range addrs {
		f.endpoints = append(f.endpoints, c.Endpoint(a, p, who))
	}
	return f
}

// current returns the count of failovers between several servers. A single address may come from any user, and needs no memory.
func (c *Client) current(addrs []string, p Protocol) *atomic.Uint64 {
	if len(addrs) == 1 {
		return new(atomic.Uint64)
	}
	key := p.Name + " " + strings.Join(addrs, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.currents[key] == nil {
		c.currents[key] = new(atomic.Uint64)
	}
	return c.currents[key]
}

// SetIdentity sets who makes the calls that follow.
func (f *Failover) SetIdentity(who Identity) {
	for _, e := range f.endpoints {
		e.SetIdentity(who)
	}
}

// Active returns the server that the next call goes to.
func (f *Failover) Active() *Endpoint { return f.endpoint(f.current.Load()) }

// Current returns the address that the next call goes to.
func (f *Failover) Current() string { return f.Active().addr }

func (f *Failover) endpoint(n uint64) *Endpoint { return f.endpoints[n%uint64(len(f.endpoints))] }

// Invoke implements Invoker. When it gives up, the error wraps that of the last try, and that of ctx if ctx has ended.
func (f *Failover) Invoke(ctx context.Context, m Method, req, resp proto.Message) error {
	start := time.Now()
	var last error
	failovers, pauses := 0, 0
	for attempt := 1; ; attempt++ {
		at := f.current.Load()
		err := f.endpoint(at).Invoke(ctx, m, req, resp)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return afterTries(err, last)
		}
		last = err
		if f.policy.Failed != nil {
			f.policy.Failed(int(at%uint64(len(f.endpoints))), err)
		}
		what := decide(err, m.Repeatable)
		if what == giveUp {
			return err
		}
		if f.policy.MaxAttempts > 0 && attempt >= f.policy.MaxAttempts {
			return fmt.Errorf("gave up after %d tries: %w", attempt, err)
		}
		var pause time.Duration
		if what == tryNext {
			// Only the first call that fails moves on. Those that fail later find it done.
			f.current.CompareAndSwap(at, at+1)
			failovers++
		}
		if what == trySame || failovers%len(f.endpoints) == 0 {
			pause = f.policy.pause(pauses)
			pauses++
		}
		if f.policy.MaxElapsed > 0 && time.Since(start)+pause > f.policy.MaxElapsed {
			return fmt.Errorf("gave up after %d tries in %v: %w", attempt, time.Since(start).Round(time.Millisecond), err)
		}
		if pause > 0 && f.policy.Waiting != nil {
			f.policy.Waiting(err, time.Since(start))
		}
		if err := sleep(ctx, pause); err != nil {
			return afterTries(fmt.Errorf("%s: %w", m.Name, err), last)
		}
	}
}

// afterTries adds the last server's failure to the error that ended a call.
func afterTries(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, last)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type decision int

const (
	giveUp decision = iota
	trySame
	tryNext
)

// decide chooses the next step after an error.
func decide(err error, repeatable bool) decision {
	switch Class(err) {
	case "":
	case StandbyException:
		return tryNext
	case RetriableException:
		return trySame
	default:
		return giveUp
	}
	if a := (*AuthError)(nil); errors.As(err, &a) {
		return giveUp
	}
	c := (*ConnError)(nil)
	if !errors.As(err, &c) || errors.Is(err, ErrClientClosed) {
		return giveUp
	}
	if !c.Sent || errors.Is(err, io.EOF) || repeatable {
		return tryNext
	}
	return giveUp
}
