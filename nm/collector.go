package nm

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"heddle/conf"
	"heddle/conf/rpc"
	"heddle/conf/secure"
	"heddle/conf/timeline"
	"heddle/internal/listen"
	"heddle/nm/collector"
	"heddle/nm/container"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos/negotiate"
	"heddle/yarn/records"
)

// timelines is the node's part in timeline version 2. All is nil if that is off.
type timelines struct {
	collectors *collector.Collectors
	witness    *collector.Witness // nil also if containers aren't published
	listener   net.Listener
	address    string // of the listener, for collectors
}

// collectorKey names where collectors connect.
const collectorKey = "yarn.nodemanager.collector-service.address"

// openTimelines prepares timeline version 2, if it is on.
func openTimelines(n *NodeManager) error {
	c, t := n.o.Conf, &n.timelines
	if _, v2 := timeline.Versions(c); !v2 {
		return nil
	}
	var tickets negotiate.Tickets
	if n.login != nil {
		tickets = n.login
	}
	publisher, err := collector.NewPublisher(c, ownName(), tickets, n.log)
	if err != nil {
		return err
	}
	n.closing(publisher.Close)
	t.collectors = collector.New(collector.Config{
		Master: func(app records.ApplicationID) (collector.Master, bool) { return collector.MasterOf(n.containers, app) }, Admit: func(ctx context.Context) error { return admitCollector(ctx, n) }, Changed: n.kick, Publisher: publisher,
		Here: func(app records.ApplicationID) bool { _, here := n.containers.Application(app); return here },
	})
	if c.Bool("yarn.system-metrics-publisher.enabled") && c.Bool("yarn.nodemanager.emit-container-events") {
		t.witness = &collector.Witness{
			Publisher: publisher, Node: n.identity.node(), Web: net.JoinHostPort(n.identity.Host, strconv.Itoa(n.identity.WebPort)),
			Container: func(id records.ContainerID) (*container.Container, error) { return n.containers.Container(id) },
		}
	}
	at := conf.Address{Host: "127.0.0.1"}
	if n.login != nil {
		at.Host = n.s.listen.Host // its account's name has the node's
	}
	if c.IsSet(collectorKey) {
		at = c.Address(collectorKey)
	}
	if t.listener, err = listen.TCP(at.String(), collectorKey); err != nil {
		return err
	}
	n.closing(func() { t.listener.Close() })
	host := at.Host
	if n.login != nil {
		host = n.identity.Host
	}
	t.address = net.JoinHostPort(host, strconv.Itoa(t.listener.Addr().(*net.TCPAddr).Port))
	return nil
}

// admitCollector admits with Kerberos the node's own account alone: collectors run in a JVM beside the node.
func admitCollector(ctx context.Context, n *NodeManager) error {
	if n.login == nil {
		return nil
	}
	if who := ipc.CallFrom(ctx).Principal; who != n.login.Principal() {
		return ipc.NewException(ipc.AuthorizationException, "%s is not the account of this NodeManager", who)
	}
	return nil
}

// serveCollectors answers collectors until the node is closed.
func serveCollectors(n *NodeManager) error {
	t := &n.timelines
	if t.collectors == nil {
		return nil
	}
	protection, err := rpc.Protection(n.o.Conf)
	if err != nil {
		return err
	}
	cfg := ipc.ServerConfig{Protection: protection, Log: n.log, MaxDataLength: 1 << 20, MaxRequests: 16 << 20, MaxReplies: 16 << 20}
	if n.login != nil {
		a, err := secure.NodeManager(n.o.Conf)
		if err != nil {
			return err
		}
		cfg.Auth, cfg.Kerberos, cfg.Short = ipc.AuthKerberos, a.Acceptor(), func(principal string) (string, error) { return principal, nil }
	}
	server, err := ipc.NewServer(cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", collectorKey, err)
	}
	t.collectors.Serve(server)
	go func() { _ = server.Serve(t.listener) }()
	n.closing(func() { server.Close() })
	return nil
}

// collectorProperties are the settings by which the service with the collectors finds this node.
func collectorProperties(n *NodeManager) []string {
	if n.timelines.collectors == nil {
		return nil
	}
	return []string{collectorKey, n.timelines.address, "yarn.nodemanager.bind-host", ""}
}
