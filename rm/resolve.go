package rm

import (
	"context"
	"net"
	"sync"
	"time"
)

// resolver finds the IP addresses of nodes for the service field of tokens, and remembers them for a while: tokens are made
// by the ten thousand.
type resolver struct {
	mu    sync.RWMutex
	known map[string]resolved
}

type resolved struct {
	ip    string
	until time.Time
}

const (
	resolvedFor     = time.Minute
	resolvePatience = 2 * time.Second
)

func newResolver() *resolver { return &resolver{known: map[string]resolved{}} }

// ip returns the address of a host, or the host itself when it has none.
func (r *resolver) ip(host string) string {
	now := time.Now()
	r.mu.RLock()
	k, ok := r.known[host]
	r.mu.RUnlock()
	if ok && now.Before(k.until) {
		return k.ip
	}
	ip := lookUp(host)
	r.mu.Lock()
	r.known[host] = resolved{ip: ip, until: now.Add(resolvedFor)}
	r.mu.Unlock()
	return ip
}

func lookUp(host string) string {
	if net.ParseIP(host) != nil {
		return host
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolvePatience)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupIP(ctx, "ip4", host)
	if err != nil || len(addrs) == 0 {
		if addrs, err = net.DefaultResolver.LookupIP(ctx, "ip6", host); err != nil || len(addrs) == 0 {
			return host
		}
	}
	return addrs[0].String()
}
