package service

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"heddle/rm/leader"
	"heddle/rm/service/identity"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// NodeSecrets checks the tokens of NodeManagers that know the cluster's secret (ipc.ServerConfig.Secrets of the port for
// nodes).
type NodeSecrets struct{ Key []byte }

// Bearer implements ipc.Secrets.
func (s NodeSecrets) Bearer(identifier []byte) (ipc.Bearer, error) {
	node, password, err := token.ParseNode(s.Key, identifier)
	if err != nil {
		return ipc.Bearer{}, ipc.ErrMalformedIdentifier
	}
	return ipc.Bearer{Password: password, User: "node " + node.String(), Kind: token.KindNode, Identifier: node}, nil
}

// nodeCaller returns the caller's identity for a node. A caller that has proved to be one node can't speak for another.
func (s *Service) nodeCaller(ctx context.Context, id records.NodeID) (leader.NodeCaller, error) {
	call := ipc.CallFrom(ctx)
	who := leader.NodeCaller{Address: call.Addr.Addr().String(), Proven: identity.IsOn(call, id.Host)}
	if call.Auth != ipc.AuthMethodToken {
		return who, nil
	}
	if proved, ok := call.Identifier.(records.NodeID); !ok || proved != id {
		s.Log.WithField("peer", call.Addr.String()).WithField("node", id).Warnf("node %v speaks for another one", call.Identifier)
		return who, ipc.NewException(ipc.AccessControlException, "A NodeManager that has proved to be %v can't speak for %v", call.Identifier, id)
	}
	who.Proven = true
	return who, nil
}

// stranger answers a caller that speaks for a node that isn't its own.
func (s *Service) stranger(err error) error {
	if errors.Is(err, leader.ErrStranger) {
		s.Log.WithError(err).Warn("a call for a node was refused")
		return ipc.NewException(ipc.AccessControlException, "%v", err)
	}
	return s.exception(err)
}

// lookUpPatience is how long the name service is waited for.
const lookUpPatience = 3 * time.Second

// namesOf returns the names under which the lists of hosts may know a machine: its address, the names of that, and what it
// calls itself if that is its address, or if it has proved who it is.
func (s *Service) namesOf(ctx context.Context, host string, who leader.NodeCaller) []string {
	names := []string{who.Address}
	if s.Hosts.Include == "" && s.Hosts.Exclude == "" {
		return append(names, host)
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpPatience)
	defer cancel()
	lookUp := s.Names
	if lookUp == nil {
		lookUp = net.DefaultResolver
	}
	if reverse, err := lookUp.LookupAddr(ctx, who.Address); err == nil {
		for _, n := range reverse {
			names = append(names, strings.TrimSuffix(n, "."))
		}
	}
	if who.Proven || identity.IsAddressOf(ctx, lookUp, host, who.Address) {
		names = append(names, host)
	}
	return names
}
