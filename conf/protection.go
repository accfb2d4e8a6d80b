package conf

import (
	"errors"
	"fmt"
	"strings"
)

// protections are Hadoop's settings of protections that Heddle lacks. harmless are the values that ask for none.
var protections = []struct{ key, harmless, why string }{
	{"hadoop.security.authorization", "false", "service ACLs (hadoop-policy.xml) are not checked; keep the ports among trusted machines and set it to false"},
	{"dfs.encrypt.data.transfer", "false", "connections to DataNodes would not be encrypted; set it to false for this daemon, or use a private network"},
	{"dfs.data.transfer.protection", "", "connections to DataNodes would not be protected; unset it for this daemon, or use a private network"},
	{"mapreduce.shuffle.ssl.enabled", "false", "map outputs are served without TLS; set it to false and keep nodes on a private network"},
	{"hadoop.ssl.enabled", "false", "web ports are served without TLS; set it to false and put a proxy with TLS in front"},
	{"yarn.timeline-service.webapp.rest-csrf.enabled", "false", "there is no timeline server here that would ask for the header; set it to false"},
	{"yarn.intermediate-data-encryption.enable", "false", "what jobs spill to disks is not encrypted; set it to false and encrypt the disks"},
	{"ipc.server.ssl.enabled", "false", "RPC runs without TLS; set it to false and use a private network"},
}

// Protected returns an error if a setting asks for a protection that the daemons lack. A daemon that doesn't start is
// better than one that only seems protected.
func (c *Config) Protected() error {
	var all []error
	for _, p := range protections {
		value, set := c.Get(p.key) // some aren't in the registry
		value = strings.TrimSpace(value)
		if !set || value == "" || strings.EqualFold(value, p.harmless) {
			continue
		}
		at, _ := c.Where(p.key)
		all = append(all, fmt.Errorf("%v: %s = %s would have no effect: %s", at, p.key, value, p.why))
	}
	return errors.Join(all...)
}
