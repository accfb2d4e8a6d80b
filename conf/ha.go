package conf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	rmPrefix  = "yarn.resourcemanager."
	singleRM  = "rm1" // id of the only ResourceManager
	raftPort  = 8034
	anyHost   = "0.0.0.0"
	loopback  = "127.0.0.1"
	dnsPeriod = 3 * time.Second // limit for a resolver's answer
)

// rmAddressKeys are the keys of the addresses that a ResourceManager has. Each may be set by id.
func rmAddressKeys(c *Config) []string {
	return []string{rmPrefix + "address", rmPrefix + "scheduler.address", rmPrefix + "resource-tracker.address", rmPrefix + "admin.address", WebKey(c, rmPrefix)}
}

// HTTPS reports whether web ports speak HTTPS instead of HTTP (Hadoop: YarnConfiguration.useHttps).
func HTTPS(c *Config) bool { return strings.EqualFold(c.Text("yarn.http.policy"), "HTTPS_ONLY") }

// WebKey returns the key of the web port's address of daemons whose keys have a prefix, such as yarn.nodemanager. with its last dot.
func WebKey(c *Config, prefix string) string {
	if HTTPS(c) {
		return prefix + "webapp.https.address"
	}
	return prefix + "webapp.address"
}

// HAEnabled reports whether there are several ResourceManagers.
func (c *Config) HAEnabled() bool { return c.Bool(rmPrefix + "ha.enabled") }

// RMIDs lists the ids of the ResourceManagers in the order in which clients try them. A single one has the id of
// yarn.resourcemanager.ha.id, or rm1.
func (c *Config) RMIDs() []string {
	if c.HAEnabled() {
		return c.Strings(rmPrefix + "ha.rm-ids")
	}
	if id := c.Text(rmPrefix + "ha.id"); id != "" {
		return []string{id}
	}
	return []string{singleRM}
}

// OwnRMID returns the id of this process's ResourceManager: the given one if it isn't "", or else that of
// yarn.resourcemanager.ha.id, or else the one whose address belongs to this host.
func (c *Config) OwnRMID(ctx context.Context, given string) (string, error) {
	ids := c.RMIDs()
	if given == "" {
		given = c.Text(rmPrefix + "ha.id")
	}
	switch {
	case given != "" && !c.HAEnabled():
		return given, nil
	case given != "":
		if !slices.Contains(ids, given) {
			return "", fmt.Errorf("ResourceManager id %q is not in %sha.rm-ids (%s)", given, rmPrefix, strings.Join(ids, ", "))
		}
		return given, nil
	case !c.HAEnabled():
		return ids[0], nil
	}
	var own []string
	for _, id := range ids {
		if a, err := c.RMAddress(rmPrefix+"address", id); err == nil && c.isLocal(ctx, a.Host) {
			own = append(own, id)
		}
	}
	if len(own) == 1 {
		return own[0], nil
	}
	what := "none of " + strings.Join(ids, ", ") + " has an address of this host"
	if len(own) > 1 {
		what = strings.Join(own, ", ") + " all have addresses of this host"
	}
	return "", fmt.Errorf("can't tell which ResourceManager this is: %s; set %sha.id or give --id", what, rmPrefix)
}

// RMAddress returns an address of a ResourceManager by its key, such as yarn.resourcemanager.scheduler.address. With
// several ResourceManagers it is the value of <key>.<id>, or else the host yarn.resourcemanager.hostname.<id> with the
// key's default port (Hadoop: HAUtil).
func (c *Config) RMAddress(key, id string) (Address, error) {
	if !c.HAEnabled() {
		return c.Address(key), nil
	}
	k, ok := FindKey(key)
	if !ok || k.Kind != Hostport {
		panic("conf: " + key + " is not an address")
	}
	byID := key + "." + id
	if v, ok := c.Get(byID); ok {
		a, err := ParseAddress(v, k.defaultPort())
		if err != nil {
			return Address{}, fmt.Errorf("%s = %q: %w", byID, v, err)
		}
		return a, nil
	}
	hostKey := rmPrefix + "hostname." + id
	host, ok := c.Get(hostKey)
	if !ok {
		return Address{}, fmt.Errorf("neither %s nor %s is set", byID, hostKey)
	}
	return Address{strings.Trim(host, "[]"), k.defaultPort()}, nil
}

// RMAddresses returns the address of every ResourceManager, in the order of RMIDs, in a form that clients can connect
// to (see Connectable).
func (c *Config) RMAddresses(key string) ([]Address, error) {
	var out []Address
	for _, id := range c.RMIDs() {
		a, err := c.RMAddress(key, id)
		if err != nil {
			return nil, err
		}
		out = append(out, c.Connectable(a))
	}
	if len(out) == 0 {
		return nil, errors.New(rmPrefix + "ha.enabled is true, but " + rmPrefix + "ha.rm-ids is empty")
	}
	return out, nil
}

// RMListen returns where a ResourceManager listens: its address, but with the host of yarn.resourcemanager.bind-host if
// that is set.
func (c *Config) RMListen(key, id string) (Address, error) {
	a, err := c.RMAddress(key, id)
	return c.bind(a, rmPrefix+"bind-host"), err
}

// NMListen returns where a NodeManager listens: its address by key, but with the host of yarn.nodemanager.bind-host if
// that is set.
func (c *Config) NMListen(key string) Address {
	return c.bind(c.Address(key), "yarn.nodemanager.bind-host")
}

func (c *Config) bind(a Address, key string) Address {
	if host := c.Text(key); host != "" {
		a.Host = strings.Trim(host, "[]")
	}
	return a
}

// RaftAddress returns where the ResourceManagers reach the one with that id by raft: heddle.raft.address.<id>, or else
// the host of its other addresses and port 8034.
func (c *Config) RaftAddress(id string) (Address, error) {
	key := "heddle.raft.address." + id
	if v, ok := c.Get(key); ok {
		a, err := ParseAddress(v, raftPort)
		if err != nil {
			return Address{}, fmt.Errorf("%s = %q: %w", key, v, err)
		}
		return a, nil
	}
	a, err := c.RMAddress(rmPrefix+"address", id)
	if err != nil {
		return Address{}, fmt.Errorf("%s is not set, and: %w", key, err)
	}
	return Address{a.Host, raftPort}, nil
}

// IsAny reports whether the host stands for all interfaces. One can listen on such an address, but not connect to it.
func (a Address) IsAny() bool {
	ip := net.ParseIP(a.Host)
	return a.Host == "" || ip != nil && ip.IsUnspecified()
}

// Connectable returns the address in a form that others can connect to. This host's name replaces "all interfaces", or
// the loopback address if the resolver doesn't know the name (Hadoop: NetUtils.getConnectAddress).
func (c *Config) Connectable(a Address) Address {
	if !a.IsAny() {
		return a
	}
	ctx, cancel := context.WithTimeout(context.Background(), dnsPeriod)
	defer cancel()
	host, err := c.hostname()
	if err == nil && host != "" {
		if ips, err := c.resolve(ctx, host); err == nil && len(ips) > 0 {
			return Address{host, a.Port}
		}
	}
	return Address{loopback, a.Port}
}

// isLocal reports whether a host's addresses include one of this host's interfaces.
func (c *Config) isLocal(ctx context.Context, host string) bool {
	if (Address{Host: host}).IsAny() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, dnsPeriod)
	defer cancel()
	ips := []string{host}
	if net.ParseIP(host) == nil {
		var err error
		if ips, err = c.resolve(ctx, host); err != nil {
			return false
		}
	}
	locals, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, s := range ips {
		ip := net.ParseIP(s)
		if ip == nil {
			continue
		}
		if ip.IsLoopback() || slices.ContainsFunc(locals, func(l net.Addr) bool {
			n, ok := l.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		}) {
			return true
		}
	}
	return false
}
