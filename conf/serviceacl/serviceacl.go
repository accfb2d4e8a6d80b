// Package serviceacl decides who may connect to which protocol: by the lists of hadoop-policy.xml if hadoop.security.authorization is on, and with Kerberos by
// the account that the protocol's clients must have (Hadoop: ServiceAuthorizationManager).
package serviceacl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/yarn/acl"
	"heddle/yarn/ipc"
	"heddle/yarn/protocol"
)

const (
	// On is the key that turns the lists on.
	On = "hadoop.security.authorization"
	// File has the lists, in a configuration folder.
	File = "hadoop-policy.xml"
	// common begins the names of the keys for services without lists of their own.
	common = "security.service.authorization.default"
)

// services are the protocols of Heddle's daemons, as the keys of service ACLs name them (Hadoop 3.4: RMPolicyProvider, NMPolicyProvider). Heddle's own protocols
// have the lists of those beside which they are.
var services = map[string]string{
	protocol.ResourceTracker.Name:     "security.resourcetracker.protocol",
	protocol.ApplicationClient.Name:   "security.applicationclient.protocol",
	protocol.ApplicationHistory.Name:  "security.applicationhistory.protocol",
	protocol.ApplicationMaster.Name:   "security.applicationmaster.protocol",
	protocol.Administration.Name:      "security.resourcemanager-administration.protocol",
	protocol.HAService.Name:           "security.ha.service.protocol",
	protocol.ContainerManagement.Name: "security.containermanagement.protocol",
	protocol.ContainerControl.Name:    "security.containermanagement.protocol",
	protocol.LeaderControl.Name:       "security.resourcemanager-administration.protocol",
}

// Policy decides. It is safe for concurrent use.
type Policy struct {
	on     bool
	lists  map[string]lists // by protocol
	nodes  *secure.Nodes    // nil: without Kerberos
	groups func(user string) ([]string, error)
}

type lists struct {
	admitted, blocked   acl.List
	hosts, blockedHosts acl.Hosts
}

// Enabled reports whether the lists of a configuration count.
func Enabled(c *conf.Config) bool {
	value, _ := c.Get(On)
	return strings.EqualFold(strings.TrimSpace(value), "true")
}

// Read reads the policy of a configuration, and hadoop-policy.xml of its folder, if that is there.
func Read(c *conf.Config, groups func(user string) ([]string, error)) (*Policy, error) {
	p := &Policy{on: Enabled(c), groups: groups, lists: map[string]lists{}}
	var err error
	if secure.On(c) {
		if p.nodes, err = secure.ForNodes(c); err != nil {
			return nil, err
		}
	}
	if !p.on {
		return p, nil
	}
	if c.Dir() != "" {
		with, err := c.With(File)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, conf.ErrorAt(c, On, err)
		}
		if err == nil {
			c = with
		}
	}
	for name, service := range services {
		p.lists[name] = lists{
			acl.Parse(value(c, service, ".acl", "*")), acl.Parse(value(c, service, ".acl.blocked", "")),
			acl.ParseHosts(value(c, service, ".hosts", "*")), acl.ParseHosts(value(c, service, ".hosts.blocked", "")),
		}
	}
	return p, nil
}

// value returns a service's own setting, the one for all services, or else the default. A blank admits no user.
func value(c *conf.Config, service, what, usual string) string {
	if v, set := c.Verbatim(service + what); set {
		return v
	}
	if v, set := c.Verbatim(common + what); set && v != "" {
		return v
	}
	return usual
}

// authorize returns an error in Hadoop's words unless a peer may connect to a protocol.
func (p *Policy) authorize(name string, peer *ipc.Peer) error {
	refused := func(why string) error {
		return acl.Refusal(fmt.Sprintf("User %v is not authorized for protocol interface %s: %s", peer, name, why))
	}
	why := "denied by configured ACL"
	if p.nodes != nil && name == protocol.ResourceTracker.Name {
		good, expected := p.nodes.Are(peer.FullUser, peer.Addr.Addr(), p.on)
		why = "this service is only accessible by " + expected
		if !good {
			return refused(why)
		}
	}
	if !p.on {
		return nil
	}
	l, known := p.lists[name]
	switch from := peer.Addr.Addr(); {
	case !known:
		return acl.Refusal(fmt.Sprintf("Protocol interface %s is not known.", name))
	case !l.admitted.Allows(peer.User, p.groups) || l.blocked.Allows(peer.User, p.groups):
		return refused(why)
	case !l.hosts.Include(context.Background(), from) || l.blockedHosts.Include(context.Background(), from):
		return acl.Refusal(fmt.Sprintf("Host %s is not authorized for protocol interface %s", from.Unmap(), name))
	}
	return nil
}

// Live is a policy that can be replaced while servers use it.
type Live struct{ now atomic.Pointer[Policy] }

// Set replaces the policy. Connections that are open stay.
func (l *Live) Set(p *Policy) { l.now.Store(p) }

// Authorize is for ipc.ServerConfig.
func (l *Live) Authorize(name string, peer *ipc.Peer) error {
	return l.now.Load().authorize(name, peer)
}
