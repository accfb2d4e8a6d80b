package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"heddle/yarn/records"
)

// errElsewhere says that pages are on no machine of their application.
var errElsewhere = errors.New("it is not on a machine of the application")

// lookUpPatience bounds the wait for the name service.
const lookUpPatience = 5 * time.Second

// reach returns those addresses of a page's host that belong to machines of the application.
func (p *Proxy) reach(ctx context.Context, to *url.URL, app *App) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpPatience)
	defer cancel()
	wanted, err := p.addresses(ctx, to.Hostname())
	if err != nil {
		return nil, err
	}
	machines := map[netip.Addr]bool{}
	here := false // one of the application's machines is this one
	for _, host := range app.Hosts {
		list, err := p.addresses(ctx, host)
		if err != nil {
			continue // ignore unknown names
		}
		for _, a := range list {
			machines[a] = true
			here = here || p.Local(net.IP(a.AsSlice()))
		}
	}
	var good []netip.Addr
	for _, a := range wanted {
		if machines[a] || here && p.Local(net.IP(a.AsSlice())) {
			good = append(good, a)
		}
	}
	if len(good) == 0 {
		return nil, fmt.Errorf("%s: %w", to.Host, errElsewhere)
	}
	return good, nil
}

// addresses looks a host up.
func (p *Proxy) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap().WithZone("")}, nil
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for i, a := range list {
		list[i] = a.Unmap().WithZone("")
	}
	return slices.Compact(list), nil
}

type reachKey struct{}

// reachable says to what a request may connect.
type reachable struct {
	app       records.ApplicationID
	addresses []netip.Addr
}

// withReach restricts a request's connections to these addresses, whatever the host's name means later.
func withReach(ctx context.Context, to []netip.Addr, app records.ApplicationID) context.Context {
	return context.WithValue(ctx, reachKey{}, reachable{app, to})
}

// dial connects to an application from the address by which it knows the proxy. The filter before its pages admits only
// that address, and sends others back to the proxy (Hadoop: AmIpFilter). A machine may have several addresses.
func (p *Proxy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	to, _ := ctx.Value(reachKey{}).(reachable)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	err = errElsewhere
	for _, a := range to.addresses {
		var c net.Conn
		if c, err = p.dialOne(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", addr, err)
}

func (p *Proxy) dialOne(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	if own := p.own(); own != nil {
		bound := d
		bound.LocalAddr = &net.TCPAddr{IP: own}
		if c, err := bound.DialContext(ctx, network, addr); err == nil {
			return c, nil
		}
	}
	return d.DialContext(ctx, network, addr) // a loopback address reaches only this machine
}
