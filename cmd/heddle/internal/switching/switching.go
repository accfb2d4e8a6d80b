// Package switching compares a running YARN with what Heddle's ResourceManagers would make of its nodes.
package switching

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/sockets"
	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/rm"
	"heddle/rm/hosts"
)

// Key is the list that nodes are missing in.
const Key = "yarn.resourcemanager.nodes.include-path"

// Problems compares the nodes of a running ResourceManager, by the address of its web port, with the lists of hosts of a configuration. On that
// ResourceManager's machine it also knows from where they call.
func Problems(ctx context.Context, c *conf.Config, web string) ([]conf.Problem, error) {
	lists, err := rm.HostFiles(c).Read()
	if err != nil {
		return nil, err
	}
	nodes, err := Nodes(ctx, c, web)
	if err != nil {
		return nil, err
	}
	tracker, err := c.RMAddress(rm.TrackerAddress, c.RMIDs()[0])
	if err != nil {
		return nil, err
	}
	callers, err := Callers("", tracker.Port)
	if err != nil {
		return nil, err
	}
	return Compare(ctx, lists, nodes, callers, net.DefaultResolver), nil
}

// Names is a name service; net.Resolver is one.
type Names interface {
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
}

// maxAnswer bounds a ResourceManager's list of nodes, bytes.
const maxAnswer = 256 << 20

// Nodes returns the hosts of the nodes that a running ResourceManager works with, by the address of its web port, host:port or a URL.
func Nodes(ctx context.Context, c *conf.Config, web string) ([]string, error) {
	trust, err := ssl.Client(c)
	if err != nil {
		return nil, err
	}
	next := trust.Transport()
	defer next.CloseIdleConnections()
	if !strings.Contains(web, "://") {
		web = ssl.Scheme(c) + "://" + web
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(web, "/")+"/ws/v1/cluster/nodes", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := (&http.Client{Transport: next}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", req.URL, resp.Status)
	}
	return parseNodes(io.LimitReader(resp.Body, maxAnswer))
}

// parseNodes reads the answer of /ws/v1/cluster/nodes.
func parseNodes(r io.Reader) (names []string, err error) {
	var answer struct {
		Nodes struct {
			Node []struct {
				Host  string `json:"nodeHostName"`
				State string `json:"state"`
			} `json:"node"`
		} `json:"nodes"`
	}
	if err := json.NewDecoder(r).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the list of nodes: %w", err)
	}
	gone := []string{"LOST", "SHUTDOWN", "DECOMMISSIONED", "REBOOTED"}
	for _, n := range answer.Nodes.Node {
		if n.Host != "" && !slices.Contains(gone, n.State) {
			names = append(names, n.Host)
		}
	}
	return names, nil
}

// Callers returns the addresses from which others are connected to a port of this machine; see package sockets.
func Callers(root string, port int) ([]netip.Addr, error) {
	all, err := sockets.At(root, port, sockets.Established)
	return callers(all), err
}

// callers returns the addresses at the other end of sockets, each once.
func callers(all []sockets.Socket) (from []netip.Addr) {
	for _, s := range all {
		if s.Remote.IsValid() && !slices.Contains(from, s.Remote) {
			from = append(from, s.Remote)
		}
	}
	return from
}

// Compare warns of nodes of a running cluster that Heddle would keep out, because the include list has their names, and they call from other
// addresses than the name service has for these; and of nodes that no list admits. callers are the addresses that nodes call from; nil: they aren't known.
func Compare(ctx context.Context, lists *hosts.Lists, nodes []string, callers []netip.Addr, names Names) (found []conf.Problem) {
	warn := func(format string, args ...any) {
		found = append(found, conf.Problem{Severity: conf.Warning, Key: Key, Message: fmt.Sprintf(format, args...)})
	}
	var known []netip.Addr
	for _, host := range nodes {
		if !lists.Admits(host) {
			warn("node %s of the running cluster isn't admitted by the lists of hosts: it would shut down", host)
			continue
		}
		addrs, err := names.LookupHost(ctx, host)
		if err != nil && !lists.Admits(addrs...) {
			warn("node %s of the running cluster has no address by the name service (%v): list the address that it calls from", host, err)
		}
		for _, text := range addrs {
			if a, err := netip.ParseAddr(text); err == nil {
				known = append(known, a.Unmap())
			}
		}
	}
	for _, a := range callers {
		if !slices.Contains(known, a) && !lists.Admits(a.String()) && !(a.IsLoopback() && slices.ContainsFunc(known, own)) {
			warn("a node calls from %s, which is no address of a node by the name service: Heddle would keep it out. List that address", a)
		}
	}
	return found
}

// own reports whether an address is one of this machine. A node of this machine may call from the loopback whatever its name's address is.
func own(a netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(at net.Addr) bool {
		n, ok := at.(*net.IPNet)
		return ok && n.IP.Equal(net.IP(a.AsSlice()))
	})
}
