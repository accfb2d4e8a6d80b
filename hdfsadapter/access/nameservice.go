package access

import (
	"fmt"
	"slices"
	"strings"

	"heddle/conf"
)

// nameNodePort is a NameNode's default port.
const nameNodePort = 8020

// NameNodes returns the addresses (host:port) of the NameNodes behind the authority of an HDFS URL: those of a
// nameservice in hdfs-site.xml (Hadoop: DFSUtilClient), or else the one at that host.
func NameNodes(c *conf.Config, authority string) ([]string, error) {
	if !slices.Contains(c.Strings("dfs.nameservices"), authority) {
		a, err := conf.ParseAddress(authority, nameNodePort)
		if err != nil {
			return nil, fmt.Errorf("%q is not a NameNode's address: %w; and dfs.nameservices doesn't list it", authority, err)
		}
		return []string{a.String()}, nil
	}
	key := "dfs.namenode.rpc-address." + authority
	keys := []string{key}
	if ids := c.Strings("dfs.ha.namenodes." + authority); len(ids) > 0 {
		keys = nil
		for _, id := range ids {
			keys = append(keys, key+"."+id)
		}
	}
	var addrs []string
	for _, key := range keys {
		text, ok := c.Get(key)
		if !ok && len(keys) == 1 {
			text, ok = c.Get("dfs.namenode.rpc-address") // the configuration has only one NameNode
		}
		if !ok {
			return nil, fmt.Errorf("nameservice %s: %s is not set", authority, strings.Join(keys, " or "))
		}
		a, err := conf.ParseAddress(text, nameNodePort)
		if err != nil {
			return nil, fmt.Errorf("nameservice %s: %s = %q: %w", authority, key, text, err)
		}
		addrs = append(addrs, a.String())
	}
	return addrs, nil
}
