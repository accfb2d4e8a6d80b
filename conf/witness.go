package conf

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

const (
	// WitnessID is the id of the witness among the members of a group. No ResourceManager can have it.
	WitnessID = "witness"

	witnessKey   = "heddle.raft.witness.address"
	neverLeadKey = "heddle.raft.never-lead"
	secretKey    = "heddle.cluster.secret-file"
)

// WitnessAddress returns where ResourceManagers reach the witness, and whether there is one.
func (c *Config) WitnessAddress() (a Address, there bool, err error) {
	v := c.Text(witnessKey)
	if v == "" {
		return Address{}, false, nil
	}
	if a, err = ParseAddress(v, raftPort); err != nil {
		return a, true, fmt.Errorf("%s = %q: %w", witnessKey, v, err)
	}
	return a, true, nil
}

// MissingForTwo says what two ResourceManagers without a witness lack, "" for any other number of them: each key once, with what to set it to.
func (c *Config) MissingForTwo() string {
	if !c.HAEnabled() || len(c.RMIDs()) != 2 || c.Text(witnessKey) != "" {
		return ""
	}
	said := "losing either of the two ResourceManagers stops the cluster: run a witness on a third machine, such as one that ZooKeeper ran on (heddle witness), and set " +
		witnessKey + " to HOST:8034 of that machine"
	if opensRaft(c) {
		said += ". Between machines they don't start without " + secretKey + ": set it to a file with the same random text on all three (head -c 32 /dev/urandom | base64), or use certificates (heddle.raft.tls.cert, .key, .ca)"
	}
	return said
}

// opensRaft reports whether ResourceManagers reach each other over a network, and have nothing that proves who they are.
func opensRaft(c *Config) bool {
	if c.Text(secretKey) != "" || c.Text("heddle.raft.tls.cert") != "" {
		return false
	}
	for _, id := range c.RMIDs() {
		a, err := c.RaftAddress(id)
		if ip := net.ParseIP(a.Host); err == nil && (ip == nil && a.Host != "localhost" || ip != nil && !ip.IsLoopback()) {
			return true
		}
	}
	return false
}

// witness checks that a witness makes sense, and says when one is missing.
func (v *validation) witness() {
	c, ids := v.c, v.c.RMIDs()
	if slices.Contains(ids, WitnessID) {
		v.problem(Error, rmPrefix+"ha.rm-ids", fmt.Sprintf("no ResourceManager can have the id %q: it is that of a witness", WitnessID), "")
	}
	if missing := c.MissingForTwo(); missing != "" {
		v.problem(Warning, rmPrefix+"ha.rm-ids", missing, "")
	} else if c.HAEnabled() && len(ids) > 1 && opensRaft(c) {
		v.problem(Warning, rmPrefix+"ha.rm-ids", "ResourceManagers on several machines don't start without "+secretKey+", or certificates (heddle.raft.tls.cert, .key, .ca)", "")
	}
	if c.Text(witnessKey) == "" {
		return
	}
	switch {
	case !c.HAEnabled() || len(ids) == 1:
		v.problem(Error, witnessKey, "a witness beside a single ResourceManager adds nothing: that one would stop with the loss of either. Name two ResourceManagers in "+rmPrefix+"ha.rm-ids, or take the witness out", "")
	case len(ids) > 2:
		v.problem(Error, witnessKey, fmt.Sprintf("a witness beside %d ResourceManagers adds nothing: they survive the loss of one without it, and four voters survive no more. "+
			"Take it out, or name two ResourceManagers in %sha.rm-ids", len(ids), rmPrefix), "")
	}
	if a, _, err := c.WitnessAddress(); err == nil && a.IsAny() {
		v.problem(Error, witnessKey, "ResourceManagers can't connect to all addresses: name the witness's machine", "such as zk3.example.com:8034")
	}
}

// neverLead checks who is kept from leading.
func (v *validation) neverLead() {
	c, ids := v.c, v.c.RMIDs()
	kept := c.Strings(neverLeadKey)
	for _, id := range kept {
		if !slices.Contains(ids, id) {
			v.problem(Error, neverLeadKey, fmt.Sprintf("%q is not an id in %sha.rm-ids (%s)", id, rmPrefix, strings.Join(ids, ", ")), "")
		}
	}
	may := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(kept, id) })
	switch {
	case len(kept) == 0 || len(ids) < 2:
	case len(may) == 0:
		v.problem(Error, neverLeadKey, "names all ResourceManagers, so that none would lead", "")
	case len(may) == 1:
		v.problem(Warning, neverLeadKey, fmt.Sprintf("only %s may lead: the cluster waits while it is away", may[0]), "")
	}
}
