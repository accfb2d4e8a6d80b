package service

import (
	"net"
	"strconv"
	"sync"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// nodeForms is how a node is named in messages. It never changes.
type nodeForms struct {
	id      *pb.NodeId
	address string // host:port, as it calls itself
	service string // ip:port, as tokens name it
	until   time.Time
}

const (
	// formsFor is how long the address of a node is taken to be the same.
	formsFor = time.Minute
	// maxForms bounds what is remembered of nodes, most of which may be gone.
	maxForms = 1 << 16
)

// formsCache remembers how nodes are named: containers are granted by the ten thousand on the same ones.
type formsCache struct {
	mu    sync.RWMutex
	known map[records.NodeID]*nodeForms
}

func (c *formsCache) of(n records.NodeID, now time.Time, resolve func(host string) string) *nodeForms {
	c.mu.RLock()
	f := c.known[n]
	c.mu.RUnlock()
	if f != nil && now.Before(f.until) {
		return f
	}
	f = &nodeForms{
		id: n.PB(), address: n.String(), service: net.JoinHostPort(resolve(n.Host), strconv.Itoa(int(n.Port))), until: now.Add(formsFor),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxForms {
		c.known = map[records.NodeID]*nodeForms{}
	}
	c.known[n] = f
	return f
}

// forms returns those of a node.
func (s *Service) forms(n records.NodeID) *nodeForms { return s.named.of(n, s.View.Now(), s.Resolve) }
