package rest

import (
	"cmp"

	"heddle/conf"
	"heddle/conf/ssl"
)

// LogServers returns where logs of ended applications are shown, as a page and by REST. By default the page is on the ResourceManager that clients try
// first, if logs are aggregated; a follower sends readers on to the leader. REST has no default: programs expect YARN's answers of a node.
func LogServers(c *conf.Config) (page, api string) {
	page, api = c.Text("yarn.log.server.url"), c.Text("yarn.log.server.web-service.url")
	masters, err := c.RMAddresses(conf.WebKey(c, "yarn.resourcemanager."))
	if err != nil || !c.Bool("yarn.log-aggregation-enable") {
		return page, api
	}
	master := ssl.Scheme(c) + "://" + masters[0].String()
	return cmp.Or(page, master+"/cluster/logs"), api
}
