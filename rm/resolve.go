package rm

import (
	"context"
	"net"
	"time"
)

const resolvePatience = 2 * time.Second

// lookUp returns the IP address of a node's host, for the service field of tokens, or the host itself when it has none.
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
