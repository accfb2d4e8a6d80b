package mapreduce

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"heddle/am/stage"
)

// How the coordinator finds out that a host is gone before the ResourceManager does, which waits for ten minutes by default: where workers
// have been quiet for longer than they should, or their connections have broken, it knocks at their ports and at the NodeManager's. A process
// holds its port for as long as it lives, also while it is suspended.
const (
	quiet      = 2 * time.Second // beyond two reports of progress
	knockLimit = time.Second     // that a connection may take
	refusals   = 3               // knocks in a row, a second apart, that all ports refuse: no process is left
	deafness   = 10 * time.Second
	doors      = 4  // ports of workers of a host that are knocked at
	atOnce     = 32 // hosts
)

// answer is the result of knocking at a host's ports.
type answer uint8

const (
	answered answer = iota
	refused         // by all of them
	nothing
	unknown // this machine is to blame
)

// neighbours are the hosts that workers are on, or were when they ceased to answer.
type neighbours map[string]*neighbour

type neighbour struct {
	node    string    // address of the NodeManager
	heard   time.Time // when a worker there said something, or a port there answered
	broken  bool      // the connection of a worker that has said nothing since
	refused int       // knocks in a row
	silent  time.Time // of the first of the knocks that nothing has answered; zero: none
	knocked bool      // a knock is under way
	away    bool
}

// look records the workers' messages, and returns the ports to knock at by host: of hosts that have said nothing for longer than a limit, or
// that are away.
func (n neighbours) look(now time.Time, limit time.Duration, workers map[string]*workerState) map[string][]string {
	ports := map[string][]string{}
	for _, h := range n {
		h.broken = false
	}
	for _, w := range workers {
		h := n[w.host]
		if h == nil {
			h = &neighbour{}
			n[w.host] = h
		}
		if h.node = w.Node.String(); h.heard.Before(w.heard) {
			h.heard = w.heard
		}
		h.broken = h.broken || w.broken.After(w.heard)
		list := ports[w.host]
		if address, ok := strings.CutPrefix(w.url, "http://"); ok && len(list) < doors {
			list = append(list, address)
		}
		ports[w.host] = list
	}
	knocking := 0
	for _, h := range n {
		if h.knocked {
			knocking++
		}
	}
	for name, h := range n {
		list, has := ports[name]
		delete(ports, name)
		switch {
		case h.knocked:
		case !has && !h.away:
			delete(n, name)
		case knocking < atOnce && (h.away || h.broken || now.Sub(h.heard) > limit):
			knocking++
			h.knocked = true
			ports[name] = append(list, h.node)
		}
	}
	return ports
}

// take records the result of knocking at a host, and returns the consequences; nil if nothing does.
func (n neighbours) take(now time.Time, host string, a answer) stage.Event {
	h := n[host]
	h.knocked = false
	switch a {
	case unknown:
		return nil
	case answered:
		h.heard, h.refused, h.silent = now, 0, time.Time{}
		if !h.away {
			return nil
		}
		h.away = false
		return stage.Reachable{Host: host}
	}
	if h.silent.IsZero() || h.heard.After(h.silent) {
		h.silent, h.refused = now, 0
	}
	if h.refused++; a == nothing {
		h.refused = 0
	}
	if h.away || h.refused < refusals && now.Sub(h.silent) < deafness || !n.others(host, h.silent) {
		return nil
	}
	h.away = true
	return stage.Unreachable{Host: host}
}

// others reports whether another host has been heard of since. If none has, it may be this one's network that doesn't work.
func (n neighbours) others(host string, since time.Time) bool {
	for name, h := range n {
		if name != host && h.heard.After(since) {
			return true
		}
	}
	return false
}

// speaking returns the worker that says something; nil if there is none.
func speaking(c *coordinator, id string) *workerState {
	w := c.workers[id]
	if w != nil {
		w.heard = c.now()
	}
	return w
}

// noteBroken notes that the connection of a worker has broken that waited for an answer. If the worker is well, it says so at once.
func noteBroken(ctx context.Context, c *coordinator, w *workerState) {
	if ctx.Err() != nil {
		w.broken = c.now()
	}
}

// reach knocks at hosts that have been quiet for too long. It is called every second, and doesn't wait for the answers.
func reach(c *coordinator) {
	for host, ports := range c.hosts.look(c.now(), quiet+2*c.reportEvery(), c.workers) {
		go func() {
			a := c.knock(ports)
			c.mu.Lock()
			defer c.mu.Unlock()
			if e := c.hosts.take(c.now(), host, a); e != nil {
				c.step(e)
			}
		}()
	}
}

// knock tries to connect to ports of a host, until one answers.
func knock(ports []string) answer {
	var mu sync.Mutex
	var all sync.WaitGroup
	result := refused
	if len(ports) == 0 {
		return unknown
	}
	for _, p := range ports {
		all.Go(func() {
			a := answered
			conn, err := net.DialTimeout("tcp", p, knockLimit)
			switch {
			case err == nil:
				conn.Close()
			case errors.Is(err, unix.ECONNREFUSED):
				a = refused
			case errors.As(err, new(*net.DNSError)):
				a = unknown
			case os.IsTimeout(err), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTDOWN), errors.Is(err, unix.ECONNRESET):
				a = nothing
			default:
				a = unknown
			}
			mu.Lock()
			defer mu.Unlock()
			result = result.and(a)
		})
	}
	all.Wait()
	return result
}

// and returns the answer of a host some of whose ports give one answer, and others another: one that answers is enough, and one of which nothing is
// known is no reason to give the host up.
func (a answer) and(b answer) answer {
	for _, x := range []answer{answered, unknown, nothing} {
		if a == x || b == x {
			return x
		}
	}
	return refused
}
