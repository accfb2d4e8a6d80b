package secure

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"heddle/conf"
)

// namesPatience bounds a look-up.
const namesPatience = 3 * time.Second

// names is a name service, and this machine's own name.
type names struct {
	hostname   func() (string, error)
	lookupHost func(ctx context.Context, host string) ([]string, error)
	lookupAddr func(ctx context.Context, addr string) ([]string, error)
}

var machine = names{os.Hostname, net.DefaultResolver.LookupHost, net.DefaultResolver.LookupAddr}

// canonical returns the name that the name service has for a host's first address, if that name has the address as well (Java:
// InetAddress.getCanonicalHostName). If there is none it returns "".
func (n names) canonical(host string) string {
	ctx, cancel := context.WithTimeout(context.Background(), namesPatience)
	defer cancel()
	addr := host
	if net.ParseIP(host) == nil {
		addrs, err := n.lookupHost(ctx, host)
		if err != nil || len(addrs) == 0 {
			return ""
		}
		addr = addrs[0]
	}
	found, err := n.lookupAddr(ctx, addr)
	if err != nil {
		return ""
	}
	for _, name := range found {
		name = strings.TrimSuffix(name, ".")
		if back, err := n.lookupHost(ctx, name); err == nil && slices.Contains(back, addr) {
			return strings.ToLower(name)
		}
	}
	return ""
}

// named returns what _HOST stands for at an address of this machine. A name stays as it is.
func (n names) named(a conf.Address) string {
	switch {
	case a.IsAny():
		return n.own()
	case net.ParseIP(a.Host) == nil:
		return strings.ToLower(a.Host)
	}
	if name := n.canonical(a.Host); name != "" {
		return name
	}
	return a.Host
}

// own returns the name of this machine.
func (n names) own() string {
	host, err := n.hostname()
	if err != nil {
		return "localhost"
	}
	if name := n.canonical(host); name != "" {
		return name
	}
	return strings.ToLower(host)
}

// of lists the names that a server at a host may have: the one in the configuration, and the canonical one.
func (n names) of(host string) []string {
	var all []string
	if net.ParseIP(host) == nil {
		all = append(all, strings.ToLower(host))
	}
	if name := n.canonical(host); name != "" && !slices.Contains(all, name) {
		all = append(all, name)
	}
	if len(all) == 0 {
		all = append(all, host)
	}
	return all
}
