package nm

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"heddle/conf"
	"heddle/internal/listen"
	"heddle/nm/store"
	"heddle/yarn/records"
)

// identity has the names by which containers of an earlier life find their NodeManager.
type identity struct {
	Host         string `json:"host"`
	Port         int    `json:"port"`
	WebPort      int    `json:"webPort"`
	ClusterID    string `json:"clusterID,omitempty"`
	RMIdentifier int64  `json:"rmIdentifier,omitempty"`

	known bool // to containers that the state holds
}

const identityKey = "identity"

// checkIdentity refuses a state folder that belongs to another node or cluster and holds containers: they
// would be looked for in vain where they are, and be strangers here.
func checkIdentity(s *settings, state *store.Store) (identity, error) {
	var was identity
	found, err := state.Bucket("node").GetJSON(identityKey, &was)
	if err != nil || !found {
		return identity{}, err
	}
	errOccupied := errors.New("occupied")
	was.known = errors.Is(state.Bucket("containers").ForEach("", func(string, []byte) error { return errOccupied }), errOccupied)
	if !was.known {
		if was.Host != s.address.Host || s.address.Port != 0 && was.Port != s.address.Port {
			was.Host, was.Port = s.address.Host, 0
		}
		was.ClusterID = s.clusterID
		return was, nil
	}
	switch {
	case was.Host != s.address.Host, s.address.Port != 0 && was.Port != s.address.Port:
		return was, fmt.Errorf("%s holds containers of the node %s:%d, but yarn.nodemanager.address now makes this one %s; "+
			"start it under its old address, or move the folder away to start without them", state.Dir(), was.Host, was.Port, s.address)
	case was.ClusterID != "" && s.clusterID != "" && was.ClusterID != s.clusterID:
		return was, fmt.Errorf("%s holds containers of the cluster %q, but yarn.resourcemanager.cluster-id is %q; "+
			"use a folder of its own (heddle.state.dir) for every cluster, or move this one away to start without them",
			state.Dir(), was.ClusterID, s.clusterID)
	}
	return was, nil
}

// listen opens a port. A free one that an earlier life has got is taken again if that is possible, and must be if
// containers know it.
func (id identity) listen(at conf.Address, earlier int, key string) (net.Listener, int, error) {
	port := at.Port
	if port == 0 {
		port = earlier
	}
	l, err := listen.TCP(net.JoinHostPort(at.Host, strconv.Itoa(port)), key)
	again := at.Port == 0 && earlier != 0
	if err != nil && again && !id.known {
		l, err = listen.TCP(net.JoinHostPort(at.Host, "0"), key)
	}
	switch {
	case err != nil && again:
		// Another port wouldn't do.
		return nil, 0, fmt.Errorf("%s: port %d, which containers of this node know, can't be had again: %w", key, earlier, errors.Unwrap(err))
	case err != nil:
		return nil, 0, err
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}

func (id identity) node() records.NodeID { return records.NodeID{Host: id.Host, Port: int32(id.Port)} }
