package client

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/conf/rpc"
	"heddle/conf/secure"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Cluster makes connections to the cluster that a configuration describes. It is safe for concurrent use.
type Cluster struct {
	conf  *conf.Config
	types records.ResourceTypes
	log   *logrus.Entry
	rpc   *ipc.Client
}

// NewCluster returns a cluster, and connects to nothing yet. It fails if the configuration has no ResourceManager, or
// invalid resource types. log may be nil.
func NewCluster(c *conf.Config, log *logrus.Entry) (*Cluster, error) {
	if log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		log = logrus.NewEntry(l)
	}
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
	// A server that is cut off doesn't close its connections. A call that takes this long goes to the next server.
	client := ipc.NewClient(ipc.ClientConfig{
		ConnectTimeout: 5 * time.Second, CallTimeout: maxHold + 10*time.Second, Log: log,
		MaxResponseLength: c.Int("ipc.maximum.response.length"), Protection: protection,
	})
	return &Cluster{conf: c, types: types, log: log, rpc: client}, nil
}

// maxHold is the longest time for which a Master lets a ResourceManager hold an answer back.
const maxHold = 10 * time.Second

const (
	clientAddress = "yarn.resourcemanager.address"
	masterAddress = "yarn.resourcemanager.scheduler.address"
)

// Close closes all connections.
func (c *Cluster) Close() { c.rpc.Close() }

// Types returns the resource types of the cluster.
func (c *Cluster) Types() records.ResourceTypes { return c.types }

// resourceManager returns a connection to the active ResourceManager.
func (c *Cluster) resourceManager(key string, p ipc.Protocol, who ipc.Identity, patience time.Duration) (*ipc.Failover, string, error) {
	at, err := c.conf.RMAddresses(key)
	if err != nil {
		return nil, "", err
	}
	addrs := make([]string, len(at))
	for i, a := range at {
		addrs[i] = a.String()
	}
	policy := ipc.RetryPolicy{MaxElapsed: patience, Max: 2 * time.Second}
	return c.rpc.Failover(addrs, p, who, policy), strings.Join(addrs, ", "), nil
}

// User returns the short name of the user that this process acts as without tokens (caller.Of).
func User(c *conf.Config) (string, error) {
	who, err := caller.Of(c)
	return who.User, err
}

// identify returns who calls the ResourceManager for a user. With Kerberos it is the bearer of the delegation token that is in a container's
// credentials, or else the owner of the Kerberos ticket.
func (c *Cluster) identify(user string) (ipc.Identity, error) {
	if !secure.On(c.conf) {
		return ipc.Identity{User: user}, nil
	}
	if credentials, err := LoadCredentials(nil); err == nil {
		for _, t := range credentials.Tokens {
			if t.Token.Kind == token.KindDelegation {
				return ipc.Identity{Token: &t.Token, RequireToken: true}, nil
			}
		}
	}
	who, err := caller.Of(c.conf)
	return who.Identity, err
}

// defaultRack is the rack of hosts that no topology places elsewhere.
const defaultRack = "/default-rack"

// Racks remembers which rack a host is in, as the ResourceManager reported it. It is safe for concurrent use.
type Racks struct {
	mu sync.Mutex
	of map[string]string
}

// Of returns the rack of a host. It is /default-rack if the ResourceManager hasn't named the host.
func (r *Racks) Of(host string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rack, ok := r.of[host]; ok {
		return rack
	}
	return defaultRack
}

// Learn remembers the racks in a list of nodes.
func (r *Racks) Learn(nodes []*pb.NodeReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[string]string, len(nodes))
	}
	for _, n := range nodes {
		if rack := n.GetRackName(); rack != "" {
			r.of[n.GetNodeId().GetHost()] = rack
		}
	}
}

// NodeReports lists the cluster's nodes in the given states; without states it lists all.
func (a *Applications) NodeReports(ctx context.Context, states ...pb.NodeState) ([]*pb.NodeReport, error) {
	req := &pb.GetClusterNodesRequest{}
	req.SetNodeStates(states)
	resp, err := protocol.GetClusterNodes.Call(ctx, a.rm, req)
	if err != nil {
		return nil, a.failed("can't list the cluster's nodes", err)
	}
	return resp.GetNodeReports(), nil
}
