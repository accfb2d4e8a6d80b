// Package cluster is the command line's access to a cluster, YARN's or Heddle's, that a configuration describes. It makes calls of
// YARN's client and administration protocols, and requests to the REST API. Both find the active ResourceManager by
// themselves. If no answer comes, the error names the server and the key and file that configure its address.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/conf/rpc"
	"heddle/yarn/ipc"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

const (
	clientAddress = "yarn.resourcemanager.address"
	adminAddress  = "yarn.resourcemanager.admin.address"
	maxWait       = "yarn.resourcemanager.connect.max-wait.ms"
)

// How long to look for a ResourceManager unless yarn.resourcemanager.connect.max-wait.ms is set. With several
// ResourceManagers it is longer than a change of leaders takes; with one it is as long as a user at a terminal likes
// to wait.
const (
	Patience       = 10 * time.Second
	patienceForOne = 2 * time.Second
)

// Cluster gives access to a cluster. It is safe for concurrent use.
type Cluster struct {
	conf  *conf.Config
	who   caller.Caller
	types records.ResourceTypes
	rpc   *ipc.Client
	web   *web
}

// New returns the cluster of a configuration. It connects to nothing yet.
func New(c *conf.Config) (*Cluster, error) {
	types, err := c.ResourceTypes()
	if err != nil {
		return nil, err
	}
	if _, err := c.RMAddresses(clientAddress); err != nil {
		return nil, err
	}
	protection, err := rpc.Protection(c)
	if err != nil {
		return nil, err
	}
	who, err := caller.Of(c)
	if err != nil {
		return nil, err
	}
	web, err := newWeb(c, who.User)
	if err != nil {
		return nil, err
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	return &Cluster{
		conf: c, who: who, types: types,
		rpc: ipc.NewClient(ipc.ClientConfig{
			ConnectTimeout: 5 * time.Second, CallTimeout: time.Minute, Log: logrus.NewEntry(log),
			MaxResponseLength: c.Int("ipc.maximum.response.length"), Protection: protection,
		}),
		web: web,
	}, nil
}

// Close closes all connections.
func (c *Cluster) Close() {
	c.rpc.Close()
	c.web.client.CloseIdleConnections()
}

// Conf returns the configuration.
func (c *Cluster) Conf() *conf.Config { return c.conf }

// User returns the short name of the caller (caller.Of).
func (c *Cluster) User() string { return c.who.User }

// Types returns the resource types that the configuration knows.
func (c *Cluster) Types() records.ResourceTypes { return c.types }

// Call calls a method of the client protocol on the active ResourceManager.
func Call[Req, Resp any](ctx context.Context, c *Cluster, m protocol.Method[Req, Resp], req *Req) (*Resp, error) {
	return call(ctx, c, clientAddress, m, req)
}

// Admin calls a method of the administration protocol on the active ResourceManager.
func Admin[Req, Resp any](ctx context.Context, c *Cluster, m protocol.Method[Req, Resp], req *Req) (*Resp, error) {
	return call(ctx, c, adminAddress, m, req)
}

func call[Req, Resp any](ctx context.Context, c *Cluster, key string, m protocol.Method[Req, Resp], req *Req) (*Resp, error) {
	at, err := c.conf.RMAddresses(key)
	if err != nil {
		return nil, err
	}
	addrs := make([]string, len(at))
	for i, a := range at {
		addrs[i] = a.String()
	}
	failures := make([]error, len(addrs))
	rm := c.rpc.Failover(addrs, m.Protocol, c.who.Identity, ipc.RetryPolicy{
		MaxElapsed: c.patience(len(at)), Max: 2 * time.Second, Failed: func(i int, err error) { failures[i] = err },
	})
	resp, err := m.Call(ctx, rm, req)
	return resp, c.explain(key, c.conf.RMIDs(), addrs, failures, err)
}

// patience returns how long to look for one of so many ResourceManagers.
func (c *Cluster) patience(servers int) time.Duration {
	switch {
	case c.conf.IsSet(maxWait):
		return c.conf.Limit(maxWait)
	case servers > 1:
		return Patience
	}
	return patienceForOne
}

// Member calls a method on the ResourceManager with an id, at its administration address, whether it is active or not.
func Member[Req, Resp any](
	ctx context.Context, c *Cluster, id string, m protocol.Method[Req, Resp], req *Req,
) (*Resp, error) {
	a, err := c.conf.RMAddress(adminAddress, id)
	if err != nil {
		return nil, err
	}
	addr := c.conf.Connectable(a).String()
	resp, err := m.Call(ctx, c.rpc.Endpoint(addr, m.Protocol, c.who.Identity), req)
	return resp, c.explain(adminAddress, []string{id}, []string{addr}, []error{err}, err)
}

// MemberAddress returns the administration address of the ResourceManager with an id.
func (c *Cluster) MemberAddress(id string) (conf.Address, error) {
	return c.conf.RMAddress(adminAddress, id)
}

// UnreachableError says that no ResourceManager has answered, at which addresses, and which settings these come from. Of several, some may
// have answered that they don't lead.
type UnreachableError struct {
	Addrs   []string
	Sources []string // "<key>, set in <file>:<line>", one each
	Standby []string // addresses of those that don't lead
	Silent  int      // how many others there are
	Err     error
}

func (e *UnreachableError) Error() string {
	var b strings.Builder
	if len(e.Standby) > 0 {
		fmt.Fprintf(&b, "no ResourceManager leads: %d of %d answer, on standby (%s)", len(e.Standby), len(e.Standby)+e.Silent, strings.Join(e.Standby, ", "))
		if e.Silent == 0 {
			return b.String()
		}
		b.WriteString("; ")
	}
	b.WriteString("no answer from the ResourceManager at ")
	for i, a := range e.Addrs {
		if i > 0 {
			b.WriteString(", nor at ")
		}
		fmt.Fprintf(&b, "%s (%s)", a, e.Sources[i])
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// explain adds the origin of the addresses to an error, unless the error is a ResourceManager's own answer. failures are the last ones at
// each of the addresses.
func (c *Cluster) explain(key string, ids, addrs []string, failures []error, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var remote *ipc.RemoteError
	if errors.As(err, &remote) && !ipc.IsClass(err, ipc.StandbyException) {
		return err
	}
	u := &UnreachableError{Err: cause(err)}
	for i, id := range ids {
		if failures[i] != nil && onStandby(failures[i]) {
			u.Standby = append(u.Standby, addrs[i])
			continue
		}
		u.Silent++
		u.Addrs, u.Sources = append(u.Addrs, addrs[i]), append(u.Sources, c.origin(key, id))
		if failures[i] != nil {
			u.Err = cause(failures[i])
		}
	}
	return u
}

// onStandby reports whether a ResourceManager has answered that it doesn't lead.
func onStandby(err error) bool {
	return ipc.IsClass(err, ipc.StandbyException) || errors.Is(err, errStandby)
}

// cause returns the reason in a network error, without the addresses, which the message names already.
func cause(err error) error {
	var conn *ipc.ConnError
	if errors.As(err, &conn) {
		err = conn.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return op.Err
	}
	return err
}

// origin names the key that an address comes from, and where that is set.
func (c *Cluster) origin(key, id string) string {
	candidates := []string{key, "yarn.resourcemanager.hostname"}
	if c.conf.HAEnabled() {
		candidates = []string{key + "." + id, "yarn.resourcemanager.hostname." + id}
	}
	for _, k := range candidates {
		if at, ok := c.conf.Where(k); ok {
			return fmt.Sprintf("%s, set in %v", k, at)
		}
	}
	if c.conf.Dir() == "" {
		return candidates[0] + ", its default: no configuration folder; set HADOOP_CONF_DIR or give --conf DIR"
	}
	return fmt.Sprintf("%s, its default: not set in %s", candidates[0], c.conf.Dir())
}
