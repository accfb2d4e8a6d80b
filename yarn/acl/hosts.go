package acl

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Hosts lists machines: addresses, networks as 10.0.0.0/8, names, or * for all.
type Hosts []string

// ParseHosts reads a list.
func ParseHosts(text string) Hosts { return words(text) }

func words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' })
}

// hostPatience bounds the look-up of the hosts of a list.
const hostPatience = 2 * time.Second

// Include reports whether a machine with an address is on the list.
func (h Hosts) Include(ctx context.Context, from netip.Addr) bool {
	from = from.Unmap()
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	return slices.ContainsFunc(h, func(host string) bool {
		if host == "*" {
			return true
		}
		if network, err := netip.ParsePrefix(host); err == nil {
			return network.Contains(from)
		}
		if a, err := netip.ParseAddr(host); err == nil {
			return a.Unmap() == from
		}
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		return err == nil && slices.ContainsFunc(found, func(a netip.Addr) bool { return a.Unmap() == from })
	})
}
