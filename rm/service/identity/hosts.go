package identity

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// NameService is a name service; net.Resolver is one.
type NameService interface {
	LookupAddr(ctx context.Context, addr string) (names []string, err error)
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
}

// IsAddressOf reports whether a machine has an address. One that calls from the loopback is this one.
func IsAddressOf(ctx context.Context, lookUp NameService, host, addr string) bool {
	addrs, err := lookUp.LookupHost(ctx, host)
	if err != nil {
		return false
	}
	from, err := netip.ParseAddr(addr)
	if err != nil {
		return false
	}
	var own []net.Addr
	if from.IsLoopback() {
		own, _ = net.InterfaceAddrs() // none: the name has to be the loopback's
	}
	for _, a := range addrs {
		to, err := netip.ParseAddr(a)
		if err != nil {
			continue
		}
		if to = to.Unmap().WithZone(""); to == from.Unmap().WithZone("") {
			return true
		}
		if slices.ContainsFunc(own, func(o net.Addr) bool {
			p, err := netip.ParsePrefix(o.String())
			return err == nil && p.Addr().Unmap() == to
		}) {
			return true
		}
	}
	return false
}
