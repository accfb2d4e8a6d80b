package nm

import (
	"errors"
	"net"
	"net/http"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/nm/logs"
	"heddle/nm/rest"
	"heddle/yarn/acl"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/daemon"
	"heddle/yarn/rest/port"
)

// webServer serves the node's REST API and pages.
type webServer struct{ *port.Server }

// webDaemon says whose web port it is.
func webDaemon(c *conf.Config) auth.Daemon {
	return auth.Daemon{Role: "nodemanager", Host: c.Connectable(c.Address(conf.WebKey(c, "yarn.nodemanager."))).Host}
}

func (n *NodeManager) openWeb() error {
	c := n.o.Conf
	d := webDaemon(c)
	d.Log = n.log
	filter, err := auth.FromConf(c, d)
	if err != nil {
		return err
	}
	if filter.Secrets == nil {
		filter.Secrets = auth.RandomSecret()
	}
	guard, err := auth.Guards(c, "nodemanager", n.log, nil, n.identity.Host)
	if err != nil {
		return err
	}
	filter.Static = "" // Hadoop's NodeManagers take no caller for that user
	logDir, _ := c.Get("yarn.log.dir")
	o := rest.Options{
		Node: n.identity.node(), WebPort: n.identity.WebPort, Started: n.started, Types: n.s.types, GPUs: n.s.gpus,
		VirtualRatio: n.s.monitor.VirtualRatio, VirtualCheck: n.s.monitor.VirtualCheck, PhysicalCheck: n.s.monitor.PhysicalCheck,
		SuspendTimeout: n.s.suspend, LogDir: logDir, Prometheus: c.Bool("hadoop.prometheus.endpoint.enabled"),
		Aggregated: c.Bool("yarn.log-aggregation-enable"),
		Access: rest.Access{
			Enabled: c.Bool("yarn.acl.enable"), Operator: ownName(), Admins: acl.Parse(c.Text("yarn.admin.acl")), Groups: n.users,
		},
		Memory: c.Int("heddle.port.memory-mb") << 20,
		Filter: filter, Guard: guard, Configuration: c, ConfDir: c.Dir(), Containers: n.containers,
		Logs: logs.Local{Dirs: n.disks.Logs, UID: uids(n.s.container.Owner)},
		Aux:  n.aux, Disks: n.disks, Health: n.healthStatus, Use: n.sampler.Last, Registry: n.metrics, Log: n.log,
		Calls: &daemon.Calls{Name: "ContainerManagementProtocolService", Port: int(n.identity.node().Port), Activity: n.server.Activity, Methods: n.server.Methods},
	}
	if rms, err := c.RMAddresses(conf.WebKey(c, "yarn.resourcemanager.")); err == nil && len(rms) > 0 {
		o.Cluster = ssl.Scheme(c) + "://" + c.Connectable(rms[0]).String()
	}
	o.LogServer, o.LogServerREST = rest.LogServers(c)
	if n.keepLogs != nil {
		o.Uploaded = n.keepLogs.uploaded
	}
	if n.s.probes != nil {
		o.ShortTasks = n.lentAmounts
	}
	handler := rest.New(o)
	n.web = &webServer{port.New(handler, port.MaxHeader, nil)}
	if n.web.TLSConfig, err = ssl.Web(c, n.log); err != nil {
		return err
	}
	n.sendMetrics = handler.Metrics.Run
	return nil
}

func (w *webServer) serve(l net.Listener) error {
	if err := w.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (w *webServer) close() { w.Close() }
